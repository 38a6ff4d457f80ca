# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, BLOCK):
    i = tl.arange(0, BLOCK)
    tl.store(p + i, 1.0)

# ERROR: kernel-parameter-without-constexpr.py:8:22: error: arange's arguments must be of type tl.constexpr: the end must be a compile-time integer, got a run-time value of type `int32`
# ERROR: kernel-parameter-without-constexpr.py:7:15: note: `BLOCK: tl.constexpr` makes it known to the compiler
# ERROR-NOT: error:
