# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, n(1))

# ERROR: call-of-a-number.py:8:17: error: a `int32` cannot be called
# ERROR-NOT: error:
