# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(x, factor, BLOCK: tl.constexpr):
    return x * factor


@triton.jit
def kernel(p):
    tl.store(p, scale(1.0, 2.0, 16, 4))

# ERROR: too-many-arguments.py:13:17: error: `scale` takes 3 arguments, got 4
# ERROR: too-many-arguments.py:7:5: note: `scale` is defined here
# ERROR-NOT: error:
