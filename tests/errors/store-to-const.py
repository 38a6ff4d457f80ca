# RUN: not pantilec %s --kernel kernel --signature "*kfp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, 1.0)

# ERROR: store-to-const.py:8:14: error: cannot store through a pointer to const
# ERROR-NOT: error:
