# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" -D N=40 --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, N: tl.constexpr):
    tl.static_assert(N % 32 == 0, "N must be a multiple of 32")
    tl.store(p, N)

# ERROR: static-assert.py:8:5: error: N must be a multiple of 32
# ERROR-NOT: error:
