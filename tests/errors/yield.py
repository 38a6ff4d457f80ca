# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    yield n

# ERROR: yield.py:8:5: error: `yield` is not supported in a kernel; return a tuple
# ERROR-NOT: error:
