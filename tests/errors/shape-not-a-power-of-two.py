# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros((48,), tl.float32)
    tl.store(p, tl.sum(x))

# ERROR: shape-not-a-power-of-two.py:8:9: error: shape [48] has a dimension of 48, which is no power of two
# ERROR-NOT: error:
