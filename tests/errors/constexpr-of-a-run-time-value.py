# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    width: tl.constexpr = n
    tl.store(p, width)

# ERROR: constexpr-of-a-run-time-value.py:8:27: error: a constexpr must be known at compile time, got a run-time value of type `int32`
# ERROR-NOT: error:
