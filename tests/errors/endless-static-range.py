# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in tl.static_range(10000000):
        pass

# ERROR: endless-static-range.py:8:14: error: `static_range` has more than 100000 iterations
# ERROR-NOT: error:
