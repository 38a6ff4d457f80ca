# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in range(n):
        if i > 3:
            return
        tl.store(p + i, 1.0)

# ERROR: return-in-a-loop.py:10:13: error: `return` inside a loop is not supported in a kernel
# ERROR-NOT: error:
