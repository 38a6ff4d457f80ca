# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((32, 32), tl.float16)
    b = tl.zeros((32, 32), tl.float32)
    c = tl.dot(a, b)
    tl.store(p, tl.sum(c))

# ERROR: dot-types.py:10:9: error: `dot` takes operands of one type, got `fp16` and `fp32`
# ERROR-NOT: error:
