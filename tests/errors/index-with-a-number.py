# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, x[0])

# ERROR: index-with-a-number.py:9:17: error: unsupported tensor index: a tile is indexed with `None` and `:` only
# ERROR-NOT: error:
