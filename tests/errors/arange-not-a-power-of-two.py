# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, 100), 1.0)

# ERROR: arange-not-a-power-of-two.py:8:18: error: arange's range must be a power of 2, got 100
# ERROR-NOT: error:
