# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a, b = 1, 2, 3
    tl.store(p, a)

# ERROR: unpack-count.py:8:5: error: cannot unpack 3 values into 2
# ERROR-NOT: error:
