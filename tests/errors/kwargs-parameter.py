# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def helper(x, **rest):
    return x


@triton.jit
def kernel(p, n):
    tl.store(p, helper(1.0, scale=2.0))

# ERROR: kwargs-parameter.py:7:15: error: `**` in parameters is not supported in a kernel; name each parameter
# ERROR-NOT: error:
