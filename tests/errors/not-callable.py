# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = 3
    tl.store(p, x(1))

# ERROR: not-callable.py:9:17: error: a `int32` cannot be called
# ERROR-NOT: error:
