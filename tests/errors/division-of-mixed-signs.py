# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32, u32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n, m):
    tl.store(p, n // m)

# ERROR: division-of-mixed-signs.py:8:17: error: `//` takes no operands of different signedness: `int32` and `uint32`
# ERROR-NOT: error:
