# RUN: not pantilec %s --kernel kernel --signature "*fp16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.exp(tl.load(p))
    tl.store(p, x)

# ERROR: math-on-fp16.py:8:16: error: Expected dtype ['fp32', 'fp64'] but got fp16
# ERROR-NOT: error:
