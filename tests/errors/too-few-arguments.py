# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(x, factor, BLOCK: tl.constexpr):
    return x * factor


@triton.jit
def kernel(p):
    tl.store(p, scale(1.0, BLOCK=16))

# ERROR: too-few-arguments.py:13:17: error: `scale` lacks the argument `factor`
# ERROR: too-few-arguments.py:7:14: note: `factor` has no default
# ERROR-NOT: error:
