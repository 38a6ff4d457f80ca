# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in range(n):
        x = i * 2.0
    tl.store(p, x)

# ERROR: assigned-in-a-loop-only.py:10:17: error: `x` is defined inside a loop only
# ERROR: assigned-in-a-loop-only.py:9:9: note: it is assigned here
# ERROR-NOT: error:
