# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16)[:, None] + tl.arange(0, 4)[None, :])
    tl.store(p, tl.sum(tl.sort(x, 2)))

# ERROR: sort-dimension.py:{{[0-9]+}}:{{[0-9]+}}: error: `dim` is no dimension of the tile
# ERROR-NOT: error:
