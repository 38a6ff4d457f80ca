# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
from typing import NamedTuple

import pantile as triton
import pantile.language as tl


class Pair(NamedTuple):
    first: tl.tensor
    second: tl.tensor


@triton.jit
def kernel(p, n):
    pair = Pair(second=n)
    tl.store(p, pair.second)

# ERROR: named-tuple-lacks-a-field.py:15:12: error: `Pair` lacks a value for `first`
# ERROR-NOT: error:
