# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((32, 32), tl.float16)
    acc = tl.zeros((32, 64), tl.float32)
    acc = tl.dot(a, a, acc)
    tl.store(p, tl.sum(acc))

# ERROR: dot-accumulator.py:10:24: error: the accumulator of this dot must be `fp32[32, 32]`, got `fp32[32, 64]`
# ERROR-NOT: error:
