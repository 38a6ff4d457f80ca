# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 64), boundary_check=(0,))
    tl.store(p, tl.sum(x))

# ERROR: boundary-check-without-block.py:8:54: error: `boundary_check` is for block pointers only
# ERROR-NOT: error:
