# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    for x in tl.arange(0, 16):
        tl.store(p, x)

# ERROR: for-over-a-tile.py:8:14: error: a `for` runs over `range`, `tl.range`, `tl.static_range` or a tuple, got a `int32[16]`
# ERROR-NOT: error:
