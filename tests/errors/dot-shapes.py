# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((64, 32), tl.float16)
    b = tl.zeros((16, 64), tl.float16)
    c = tl.dot(a, b)
    tl.store(p, tl.sum(c))

# ERROR: dot-shapes.py:10:9: error: cannot multiply a 64x32 tile by a 16x64 tile
# ERROR: dot-shapes.py:10:19: note: expected 32 rows
# ERROR-NOT: error:
