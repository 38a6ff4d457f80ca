# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, p.shape[0])

# ERROR: shape-of-a-pointer.py:8:17: error: a scalar or a pointer has no dimensions; a kernel takes the sizes of arrays as arguments
# ERROR-NOT: error:
