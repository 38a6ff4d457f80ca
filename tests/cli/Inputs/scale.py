"""A Python program around two kernels; what is not a kernel is left alone."""
import sys

import pantile as triton
import pantile.language as tl

FACTOR = tl.constexpr(3)
settings = {"verbose": len(sys.argv) > 1}


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, SHIFT: tl.constexpr = 0):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, triple(x) + SHIFT, mask=mask)


@triton.jit
def triple(x):
    return x * FACTOR


def main():
    try:
        print(settings)
    finally:
        pass
