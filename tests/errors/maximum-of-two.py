# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p + tl.arange(0, 16), tl.max(x, 2 * x))

# ERROR: maximum-of-two.py:9:36: error: `axis` must be a compile-time integer, got a run-time value of type `fp32[16]`; `tl.maximum` and `tl.minimum` take two tiles
# ERROR-NOT: error:
