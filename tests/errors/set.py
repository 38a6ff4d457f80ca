# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    values = {1, 2, 3}
    tl.store(p, 1.0)

# ERROR: set.py:8:14: error: a set is not supported in a kernel; use a tuple
# ERROR-NOT: error:
