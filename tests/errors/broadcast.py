# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros((16,), tl.float32) + tl.zeros((32,), tl.float32)
    tl.store(p, tl.sum(x))

# ERROR: broadcast.py:8:9: error: cannot broadcast `fp32[16]` and `fp32[32]` to one shape
# ERROR-NOT: error:
