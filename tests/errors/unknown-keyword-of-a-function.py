# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(x, factor, BLOCK: tl.constexpr):
    return x * factor


@triton.jit
def kernel(p):
    tl.store(p, scale(1.0, 2.0, 16, size=4))

# ERROR: unknown-keyword-of-a-function.py:13:37: error: `scale` has no parameter `size`
# ERROR: unknown-keyword-of-a-function.py:7:5: note: `scale` is defined here
# ERROR-NOT: error:
