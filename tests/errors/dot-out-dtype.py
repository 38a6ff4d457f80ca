# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((32, 32), tl.bfloat16)
    c = tl.dot(a, a, out_dtype=tl.bfloat16)
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: dot-out-dtype.py:9:32: error: `out_dtype` cannot be bf16; take fp32 and cast the result with `.to(...)`
# ERROR-NOT: error:
