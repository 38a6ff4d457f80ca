# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    d = p - p
    tl.store(p, d)

# ERROR: pointer-difference.py:8:9: error: cannot combine two pointers: `pointer<fp32>` and `pointer<fp32>`
# ERROR-NOT: error:
