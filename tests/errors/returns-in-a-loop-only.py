# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def find(p, n):
    for i in range(n):
        if tl.load(p + i) > 0:
            return i


@triton.jit
def kernel(p, n):
    tl.store(p, find(p, n))

# ERROR: returns-in-a-loop-only.py:10:13: error: `find` returns a value on some paths only
# ERROR: returns-in-a-loop-only.py:15:17: note: in the call of `find`
# ERROR-NOT: error:
