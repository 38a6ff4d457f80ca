# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    values = {i for i in range(3)}
    tl.store(p, 1.0)

# ERROR: set-comprehension.py:8:14: error: a set comprehension is not supported in a kernel; use a tuple
# ERROR-NOT: error:
