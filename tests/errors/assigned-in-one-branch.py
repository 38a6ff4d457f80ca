# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    if n > 0:
        x = 1.0
    tl.store(p, x)

# ERROR: assigned-in-one-branch.py:10:17: error: `x` is assigned in one branch of an `if` only
# ERROR: assigned-in-one-branch.py:9:9: note: it is assigned here
# ERROR-NOT: error:
