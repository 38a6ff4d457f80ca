# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.assume(tl.load(p + tl.arange(0, 16)) > 0)

# ERROR: assume-of-a-tile.py:{{[0-9]+}}:{{[0-9]+}}: error: `assume` takes a scalar condition, got `int1[16]`
# ERROR-NOT: error:
