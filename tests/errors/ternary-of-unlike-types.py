# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    y = 1.5 if n > 3 else tl.arange(0, 4)
    tl.store(p, y)

# ERROR: ternary-of-unlike-types.py:8:9: error: the two sides of a conditional expression are float and `int32[4]`
# ERROR-NOT: error:
