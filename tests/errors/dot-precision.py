# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((32, 32), tl.float32)
    c = tl.dot(a, a, input_precision="fp19")
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: dot-precision.py:9:38: error: unknown input precision "fp19"; it is "tf32", "tf32x3", "ieee", "bf16x3" or "bf16x6"
# ERROR-NOT: error:
