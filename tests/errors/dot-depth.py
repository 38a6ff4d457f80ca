# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((16, 8), tl.float16)
    c = tl.dot(a, tl.trans(a))
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: dot-depth.py:9:9: error: `dot` of `fp16` needs M >= 1, N >= 1 and K >= 16, got K = 8
# ERROR-NOT: error:
