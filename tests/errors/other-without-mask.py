# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p, other=0.0))

# ERROR: other-without-mask.py:8:34: error: `other` cannot be provided without `mask`
# ERROR-NOT: error:
