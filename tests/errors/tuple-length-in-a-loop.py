# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    t = (n, n)
    for i in range(n):
        t = t + (i,)
    tl.store(p, t[0])

# ERROR: tuple-length-in-a-loop.py:10:9: error: `t` is tuple (`int32`, `int32`) before the loop and tuple (`int32`, `int32`, `int32`) after an iteration
# ERROR-NOT: error:
