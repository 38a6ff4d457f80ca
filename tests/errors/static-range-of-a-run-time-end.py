# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in tl.static_range(n):
        tl.store(p + i, 1.0)

# ERROR: static-range-of-a-run-time-end.py:8:14: error: the end of `static_range` must be a compile-time integer, got a run-time value of type `int32`
# ERROR-NOT: error:
