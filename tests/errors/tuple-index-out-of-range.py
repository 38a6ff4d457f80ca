# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, (1, 2)[2])

# ERROR: tuple-index-out-of-range.py:8:17: error: index 2 is out of the range of a tuple of 2
# ERROR-NOT: error:
