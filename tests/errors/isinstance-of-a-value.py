# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    if isinstance(n, 3):
        tl.store(p, 1.0)

# ERROR: isinstance-of-a-value.py:8:22: error: `isinstance` takes classes, got a int
# ERROR-NOT: error:
