# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p + tl.arange(0, n), 1.0)

# ERROR: arange-not-constant.py:8:31: error: arange's arguments must be of type tl.constexpr: the end must be a compile-time integer, got a run-time value of type `int32`
# ERROR-NOT: error:
