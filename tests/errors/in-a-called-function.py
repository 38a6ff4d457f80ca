# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def inner(x):
    return x + y


@triton.jit
def outer(x):
    return inner(x) * 2


@triton.jit
def kernel(p):
    tl.store(p, outer(1.0))

# ERROR: in-a-called-function.py:8:16: error: `y` is not defined
# ERROR: in-a-called-function.py:13:12: note: in the call of `inner`
# ERROR: in-a-called-function.py:18:17: note: in the call of `outer`
# ERROR-NOT: error:
