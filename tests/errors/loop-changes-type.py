# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = 0
    for i in range(n):
        x = x + 0.5
    tl.store(p, x)

# ERROR: loop-changes-type.py:10:9: error: `x` is `int32` before the loop and `fp32` after an iteration
# ERROR: loop-changes-type.py:8:5: note: `int32` is assigned here
# ERROR-NOT: error:
