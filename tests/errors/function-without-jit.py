# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


def doubled(x):
    return 2 * x


@triton.jit
def kernel(p):
    tl.store(p, doubled(tl.load(p)))

# ERROR: function-without-jit.py:12:17: error: the global variable `doubled` is a Python function without the jit decorator, which a kernel cannot use; the jit decorator makes it one that kernels call
# ERROR-NOT: error:
