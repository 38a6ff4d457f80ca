# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p + 1.5, 1.0)

# ERROR: pointer-plus-float.py:8:14: error: a pointer moves by integers, got float
# ERROR-NOT: error:
