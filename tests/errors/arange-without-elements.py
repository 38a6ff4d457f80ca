# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(100, 100), 1.0)

# ERROR: arange-without-elements.py:8:18: error: arange's end argument must be greater than the start argument, got 100 and 100
# ERROR-NOT: error:
