# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.static_print(f"n is {n}")

# ERROR: run-time-value-in-an-f-string.py:8:29: error: an f-string takes compile-time values, got `int32`
# ERROR-NOT: error:
