# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(p, tl.sum(a @ a))

# ERROR: matrix-operator.py:9:24: error: `@` is not supported in a kernel; `tl.dot` multiplies tiles
# ERROR-NOT: error:
