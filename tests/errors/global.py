# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


counter = tl.constexpr(1)


@triton.jit
def kernel(p, n):
    global counter
    counter = n

# ERROR: global.py:11:5: error: `global` is not supported in a kernel; return the new value instead
# ERROR-NOT: error:
