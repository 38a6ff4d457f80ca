# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, "abc"[n])

# ERROR: string-index.py:8:17: error: a tuple's index must be a compile-time integer, got a run-time value of type `int32`
# ERROR-NOT: error:
