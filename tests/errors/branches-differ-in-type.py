# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    if n > 0:
        x = 1
    else:
        x = 2.0
    tl.store(p, x)

# ERROR: branches-differ-in-type.py:12:17: error: `x` is `int32` after one branch of an `if` and `fp32` after the other
# ERROR: branches-differ-in-type.py:9:9: note: `int32` is assigned here
# ERROR: branches-differ-in-type.py:11:9: note: `fp32` is assigned here
# ERROR-NOT: error:
