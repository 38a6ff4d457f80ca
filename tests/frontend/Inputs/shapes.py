"""Sizes and a function for tests that include this file."""

import pantile as triton
import pantile.language as tl

BLOCK = tl.constexpr(32)


@triton.jit
def twice(x):
    return x * 2
