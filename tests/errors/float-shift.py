# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p) << 2
    tl.store(p, x)

# ERROR: float-shift.py:8:9: error: `<<` takes integers, got `fp32` and int
# ERROR-NOT: error:
