# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((32, 32), tl.uint8)
    c = tl.dot(a, a)
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: dot-unsigned.py:9:16: error: `dot` takes int8 or floats, got `uint8`; of the integers only int8 is supported
# ERROR-NOT: error:
