# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    async with tl.range(n) as r:
        tl.store(p, 1.0)

# ERROR: async.py:8:5: error: `async` is not supported in a kernel; loads are made asynchronous by the compiler
# ERROR-NOT: error:
