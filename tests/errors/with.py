# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    with tl.range(n):
        tl.store(p, 1.0)

# ERROR: with.py:8:10: error: `with` is not supported in a kernel: the language has no context managers
# ERROR-NOT: error:
