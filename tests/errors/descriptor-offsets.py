# RUN: not pantilec %s --kernel kernel --signature "tensordesc<fp32[16,16]>" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(d):
    d.store([0, 0], d.load([0]))

# ERROR: descriptor-offsets.py:8:28: error: a descriptor of rank 2 takes 2 offsets, got 1
# ERROR-NOT: error:
