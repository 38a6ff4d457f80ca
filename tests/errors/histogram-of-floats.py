# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, 8), tl.histogram(tl.load(p + tl.arange(0, 16)), 8))

# ERROR: histogram-of-floats.py:{{[0-9]+}}:{{[0-9]+}}: error: `histogram` takes integers in one dimension, got `fp32[16]`
# ERROR-NOT: error:
