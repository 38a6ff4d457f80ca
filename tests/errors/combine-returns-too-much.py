# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, tl.reduce(x, 0, lambda a, b: (a, b)))

# ERROR: combine-returns-too-much.py:9:33: error: the combining function returns 2 values for 1 operands
# ERROR-NOT: error:
