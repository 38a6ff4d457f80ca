# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, tl.sum(tl.gather(x, x, 0)))

# ERROR: gather-float-index.py:{{[0-9]+}}:{{[0-9]+}}: error: index must be an integer tensor, got `fp32[16]`
# ERROR-NOT: error:
