# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros((48, 0), tl.float32)
    tl.store(p, tl.sum(x))

# ERROR: shape-not-positive.py:8:9: error: shape [48, 0] has a dimension of 0, which is not positive
# ERROR-NOT: error:
