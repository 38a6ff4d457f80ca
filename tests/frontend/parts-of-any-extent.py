# Parts whose extents are no powers of two are gathered, and a remark says so; between powers of two they are slices.
# RUN: pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --target sm_90a --emit tile | FileCheck %s --check-prefix=TILE
# RUN: pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --target sm_90a --remarks 2>&1 | FileCheck %s --check-prefix=REMARK
import pantile as triton
import pantile.language as tl


# TILE-LABEL: @kernel
# TILE: tile.extract_slice {{.*}} : tensor<16xf32> -> tensor<8xf32>
# TILE-NOT: tile.extract_slice
# TILE: tile.gather {{.*}} tensor<16xf32>, tensor<3xi32> -> tensor<3xf32>
@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p + tl.arange(0, 8), x[8:])
    tl.store(p + tl.arange(0, 3), x[1:4])

# REMARK-NOT: remark: this part
# REMARK: parts-of-any-extent.py:16:{{[0-9]+}}: remark: this part is taken by gathers, through shared memory: shape [3] is not of powers of two
# REMARK-NOT: remark: this part
