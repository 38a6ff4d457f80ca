# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    y = x if x > 0 else -x
    tl.store(p + tl.arange(0, 16), y)

# ERROR: ternary-on-a-tile.py:9:14: error: a condition must be a scalar, got `int1[16]`; `tl.where` chooses by element
# ERROR-NOT: error:
