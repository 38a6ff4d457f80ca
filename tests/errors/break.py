# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in range(n):
        if i > 3:
            break

# ERROR: break.py:10:13: error: `break` is not supported in a kernel
# ERROR-NOT: error:
