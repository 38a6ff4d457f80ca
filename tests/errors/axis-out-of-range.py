# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.sum(tl.zeros((16, 16), tl.float32), axis=2)
    tl.store(p, x)

# ERROR: axis-out-of-range.py:8:9: error: invalid axis 2: it is out of the range of a tile of rank 2
# ERROR-NOT: error:
