# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros((2048, 1024), tl.float32)
    tl.store(p, tl.sum(x))

# ERROR: shape-too-large.py:8:9: error: shape [2048, 1024] has more than 1048576 elements
# ERROR-NOT: error:
