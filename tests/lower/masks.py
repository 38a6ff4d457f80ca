# A mask that can only end between vectors is compared once a vector, wherever it is used.
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, i32:16" --no-cache --emit ptx | FileCheck %s --check-prefix=VECTORS
# RUN: pantilec %s --signature "*fp32:16, *fp32:16, i32" --no-cache --emit ptx | FileCheck %s --check-prefix=ELEMENTS
import pantile as triton
import pantile.language as tl


# Eight registers per thread, in two vectors.
# VECTORS-COUNT-2: setp.lt.s32
# VECTORS-NOT: setp
# ELEMENTS-COUNT-8: setp.lt.s32
@triton.jit
def masked(x, y, n):
    cols = tl.arange(0, 1024)
    inside = cols < n
    v = tl.load(x + cols)
    tl.store(y + cols, tl.where(inside, v + 1.0, 2.0))
