# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.reshape(tl.arange(0, 16), (4, 8))
    tl.store(p, tl.sum(x))

# ERROR: reshape-count.py:8:9: error: reshape() cannot change total number of elements in tensor: `int32[16]` of 16 elements to [4, 8] of 32
# ERROR-NOT: error:
