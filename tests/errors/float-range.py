# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in range(0.5, 2.5):
        tl.store(p, 1.0)

# ERROR: float-range.py:8:14: error: a range takes integers, got float
# ERROR-NOT: error:
