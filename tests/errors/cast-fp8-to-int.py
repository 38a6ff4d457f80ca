# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p).to(tl.float8e5).to(tl.int32)
    tl.store(p, x)

# ERROR: cast-fp8-to-int.py:8:9: error: cannot cast `fp8e5` to `int32`
# ERROR-NOT: error:
