# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for x in n:
        tl.store(p, x)
    for x in tl.arange(0, 512):
        tl.store(p, x)

# ERROR: for-over-a-tile.py:8:14: error: a `for` runs over `range`, `tl.range`, `tl.static_range`, a tuple or a tile, got a `int32`
# ERROR: for-over-a-tile.py:10:14: error: `for` is unrolled over the first dimension of a tile, which has 512 elements in `int32[512]`: more than 256
# ERROR-NOT: error:
