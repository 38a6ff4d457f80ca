# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, x[2:4])

# ERROR: slice-of-a-tile.py:9:17: error: unsupported tensor index: a tile is indexed with `None` and `:` only; `tl.gather` takes elements
# ERROR-NOT: error:
