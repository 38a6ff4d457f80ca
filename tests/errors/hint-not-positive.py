# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, tl.multiple_of(n, 0))

# ERROR: hint-not-positive.py:8:35: error: `multiple_of` takes positive values of 32 bits, got 0
# ERROR-NOT: error:
