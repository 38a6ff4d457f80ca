# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def remember(p, x):
    tl.store(p, x)
    return x


@triton.jit
def kernel(p):
    offsets = tl.arange(0, 16)
    tl.store(p + offsets, tl.map_elementwise(remember, p + offsets, offsets))

# ERROR: map-function-stores.py:15:46: error: the function of `map_elementwise` cannot store
# ERROR-NOT: error:
