# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, x[1.5])
    tl.store(p + tl.arange(0, 16), x[tl.arange(0, 16)])
    tl.store(p, x[n > 2])

# ERROR: index-with-a-float.py:9:19: error: unsupported tensor index: a tile is indexed with integers, slices, `...` and `None`, got a float
# ERROR: index-with-a-float.py:10:38: error: unsupported tensor index: a tile is indexed with integers, slices, `...` and `None`, got `int32[16]`; `tl.gather` takes elements by a tile of indices
# ERROR: index-with-a-float.py:11:19: error: unsupported tensor index: a tile is indexed with integers, slices, `...` and `None`, got `int1`
# ERROR-NOT: error:
