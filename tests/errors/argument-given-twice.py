# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(x, factor, BLOCK: tl.constexpr):
    return x * factor


@triton.jit
def kernel(p):
    tl.store(p, scale(1.0, 2.0, 16, x=4))

# ERROR: argument-given-twice.py:13:39: error: `scale` got two values for `x`
# ERROR: argument-given-twice.py:7:5: note: `scale` is defined here
# ERROR-NOT: error:
