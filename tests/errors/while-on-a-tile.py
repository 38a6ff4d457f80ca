# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    while x > 0:
        x = x - 1

# ERROR: while-on-a-tile.py:9:11: error: a condition must be a scalar, got `int1[16]`; `tl.where` chooses by element
# ERROR-NOT: error:
