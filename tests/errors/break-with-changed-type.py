# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = 0
    for i in range(n):
        x = i
        if i > 3:
            x = 1.5
            break
    tl.store(p, x)

# ERROR: break-with-changed-type.py:10:9: error: `x` is `fp32` after one branch of an `if` and `int32` after the other
# ERROR: break-with-changed-type.py:12:13: note: `fp32` is assigned here
# ERROR: break-with-changed-type.py:10:9: note: `int32` is assigned here
# ERROR-NOT: error:
