# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p + tl.arange(0, 16), tl.map_elementwise(3, tl.load(p + tl.arange(0, 16))))

# ERROR: map-function.py:{{[0-9]+}}:{{[0-9]+}}: error: `scalar_fn` must be a function, got a int
# ERROR-NOT: error:
