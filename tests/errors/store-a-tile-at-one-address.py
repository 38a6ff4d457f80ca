# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p + tl.arange(0, 16)))

# ERROR: store-a-tile-at-one-address.py:8:17: error: the value `fp32[16]` does not broadcast to the pointers `pointer<fp32>`; offsets added to a pointer make a tile
# ERROR-NOT: error:
