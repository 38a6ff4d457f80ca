# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.zeros((16,), tl.float32)
    while n > 0:
        x = x[:, None] + x[None, :]
        n -= 1
    tl.store(p, tl.sum(x))

# ERROR: loop-changes-shape.py:10:9: error: `x` is `fp32[16]` before the loop and `fp32[16, 16]` after an iteration
# ERROR: loop-changes-shape.py:8:5: note: `fp32[16]` is assigned here
# ERROR-NOT: error:
