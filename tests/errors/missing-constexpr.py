# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(x, factor, BLOCK: tl.constexpr):
    return x * factor


@triton.jit
def kernel(p, n):
    tl.store(p, scale(1.0, 2.0, n))

# ERROR: missing-constexpr.py:13:33: error: the argument `BLOCK` of `scale` must be known at compile time, got a run-time value of type `int32`
# ERROR: missing-constexpr.py:7:22: note: `BLOCK` is a constexpr
# ERROR-NOT: error:
