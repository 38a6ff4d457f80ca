# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a, b = tl.load(p + tl.arange(0, 4))
    c, *rest = tl.load(p + tl.arange(0, 512))

# ERROR: unpack-a-tile.py:8:5: error: cannot unpack 4 values into 2
# ERROR: unpack-a-tile.py:9:5: error: unpacking is unrolled over the first dimension of a tile, which has 512 elements
# ERROR-NOT: error:
