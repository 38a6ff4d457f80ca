# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, a)
    tl.store(p, b)
    x = tl.arange(3, 3)
    tl.store(p, x + a)

# ERROR: several-errors.py:8:17: error: `a` is not defined
# ERROR: several-errors.py:9:17: error: `b` is not defined
# ERROR: several-errors.py:10:9: error: arange's end argument must be greater
# ERROR: several-errors.py:11:21: error: `a` is not defined
# ERROR-NOT: error:
