# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(x, factor, BLOCK: tl.constexpr):
    return tl.sum(x * factor + tl.arange(0, BLOCK))


@triton.jit
def kernel(p, n):
    tl.store(p, scale(1.0, 2.0, n))

# ERROR: missing-constexpr.py:8:45: error: arange's arguments must be of type tl.constexpr: the end must be a compile-time integer, got a run-time value of type `int32`
# ERROR: missing-constexpr.py:13:17: note: in the call of `scale`
# ERROR-NOT: error:
