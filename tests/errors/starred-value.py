# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = *n

# ERROR: starred-value.py:8:9: error: a starred expression stands only in a tuple, list or call
# ERROR-NOT: error:
