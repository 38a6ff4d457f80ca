# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    values = [i for i in range(4) if i > n]
    tl.store(p, values[0])

# ERROR: comprehension-with-a-run-time-condition.py:8:38: error: the condition of a comprehension must be known at compile time, got a run-time value of type `int1`
# ERROR-NOT: error:
