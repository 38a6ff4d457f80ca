# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    tl.store(p, x.size)

# ERROR: attribute.py:9:19: error: a `fp32` has no attribute `size`
# ERROR-NOT: error:
