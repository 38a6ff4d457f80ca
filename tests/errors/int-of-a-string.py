# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, int("five"))

# ERROR: int-of-a-string.py:8:21: error: `int` takes no `'five'`
# ERROR-NOT: error:
