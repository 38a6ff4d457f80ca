# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, 32), tl.topk(tl.load(p + tl.arange(0, 16)), 32))

# ERROR: topk-count.py:{{[0-9]+}}:{{[0-9]+}}: error: `k` lies between 1 and the size of the dimension
