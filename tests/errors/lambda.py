# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    f = lambda x: x + 1
    tl.store(p, f(1.0))

# ERROR: lambda.py:8:9: error: `lambda` is not supported in a kernel
# ERROR-NOT: error:
