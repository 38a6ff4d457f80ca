# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.int32, True, 2)
    tl.store(p + tl.arange(0, 16), y)

# ERROR: inline-asm-outputs.py:{{[0-9]+}}:{{[0-9]+}}: error: the constraints have 1 outputs, and `dtype` with `pack` needs 2
# ERROR-NOT: error:
