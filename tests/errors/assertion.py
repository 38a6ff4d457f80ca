# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" -D N=40 --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, N: tl.constexpr):
    assert N > 64, f"N is {N}"
    tl.store(p, N)

# ERROR: assertion.py:8:12: error: N is 40
# ERROR-NOT: error:
