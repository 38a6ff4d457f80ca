# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16))
    tl.store(p, x[n, 16])
    x[-5] = 0.0
    tl.store(p, x[n])

# ERROR: index-out-of-bounds.py:9:22: error: index 16 is out of bounds for axis 1 with size 16 of `fp32[4, 16]`
# ERROR: index-out-of-bounds.py:10:7: error: index -5 is out of bounds for axis 0 with size 4 of `fp32[4, 16]`
# ERROR-NOT: error:
