# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    if x > 0:
        tl.store(p, 1.0)

# ERROR: if-on-a-tile.py:9:8: error: a condition must be a scalar, got `int1[16]`; `tl.where` chooses by element
# ERROR-NOT: error:
