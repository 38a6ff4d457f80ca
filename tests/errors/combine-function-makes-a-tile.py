# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def combine(a, b):
    return tl.sum(a + b + tl.arange(0, 4), 0)


@triton.jit
def kernel(p):
    tl.store(p, tl.reduce(tl.arange(0, 16), 0, combine))

# ERROR: combine-function-makes-a-tile.py:13:48: error: the function of `reduce` works on single elements, and makes a tile
# ERROR-NOT: error:
