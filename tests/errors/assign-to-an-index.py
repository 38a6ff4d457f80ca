# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    x[0] = 1.0
    tl.store(p + tl.arange(0, 16), x)

# ERROR: assign-to-an-index.py:9:5: error: assignment to an index is not supported in a kernel; `tl.where` gives a changed tile, `tl.store` writes to memory
# ERROR-NOT: error:
