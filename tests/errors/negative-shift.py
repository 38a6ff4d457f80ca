# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = 7 << -1
    tl.store(p, x)

# ERROR: negative-shift.py:8:9: error: negative shift count
# ERROR-NOT: error:
