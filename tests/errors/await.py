# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = await tl.load(p)
    tl.store(p, x)

# ERROR: await.py:8:9: error: `await` is not supported in a kernel; loads are made asynchronous by the compiler
# ERROR-NOT: error:
