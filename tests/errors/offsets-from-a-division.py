# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    half = tl.arange(0, 16) / 2
    tl.store(p + half, 1.0)

# ERROR: offsets-from-a-division.py:9:14: error: a pointer moves by integers, got `fp32[16]`; `//` divides integers
# ERROR-NOT: error:
