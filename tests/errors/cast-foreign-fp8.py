# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    c = tl.zeros((32,), tl.float32).to(tl.float8e4b8)
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: cast-foreign-fp8.py:8:9: error: `fp8e4b8` is not supported; the 8-bit floats are fp8e4nv, fp8e5 and fp8e4b15
# ERROR-NOT: error:
