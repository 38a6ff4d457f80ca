# RUN: not pantilec %s --kernel kernel --signature "*fp32, None" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, q):
    x = tl.load(p) + q
    tl.store(p, x)

# ERROR: none-in-arithmetic.py:8:9: error: `+` takes no `fp32` and None
# ERROR-NOT: error:
