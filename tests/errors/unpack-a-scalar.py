# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    a, b = n

# ERROR: unpack-a-scalar.py:8:5: error: cannot unpack a `int32`
# ERROR-NOT: error:
