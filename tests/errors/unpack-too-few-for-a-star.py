# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    a, *b, c = (1,)

# ERROR: unpack-too-few-for-a-star.py:8:5: error: cannot unpack 1 values into at least 2
# ERROR-NOT: error:
