# A file given with --include: its functions and constants by dotted name, under its own name and another.
# RUN: pantilec %s --include %S/Inputs/shapes.py --kernel kernel --signature "*i32" --no-cache --emit tile | FileCheck %s
import pantile as triton
import pantile.language as tl
import shapes
import shapes as sizes


# CHECK: tile.arange 0, 32
# CHECK: arith.muli
# CHECK: tile.store
@triton.jit
def kernel(p):
    offsets = tl.arange(0, shapes.BLOCK)
    tl.store(p + offsets, shapes.twice(offsets) + sizes.BLOCK)
