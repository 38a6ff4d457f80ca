# RUN: not pantilec %s --kernel kernel --signature "tensordesc<fp32[16,16]>" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(d):
    d.store([0, 0], tl.zeros((16, 8), tl.float32))

# ERROR: descriptor-store-shape.py:8:21: error: the value has shape [16, 8], the descriptor's block [16, 16]
# ERROR-NOT: error:
