# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    x.shape = 4
    tl.store(p + tl.arange(0, 16), x)

# ERROR: assign-to-an-attribute.py:9:5: error: assignment to an attribute is not supported in a kernel; values do not change: make a new one
# ERROR-NOT: error:
