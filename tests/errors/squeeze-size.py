# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.squeeze(tl.load(p + tl.arange(0, 16)), 0))

# ERROR: squeeze-size.py:{{[0-9]+}}:{{[0-9]+}}: error: `squeeze` removes a dimension of size 1, got dimension 0 of `fp32[16]`
# ERROR-NOT: error:
