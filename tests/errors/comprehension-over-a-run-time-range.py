# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    values = [i for i in range(n)]
    tl.store(p, values[0])

# ERROR: comprehension-over-a-run-time-range.py:8:26: error: the end of a range that is unrolled must be a compile-time integer, got a run-time value of type `int32`
# ERROR-NOT: error:
