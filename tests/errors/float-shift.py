# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = 1 + (tl.load(p) << 2)
    tl.store(p, x)

# ERROR: float-shift.py:8:14: error: invalid operands of type `fp32` and int: `<<` takes integers
# ERROR-NEXT: x = 1 + (tl.load(p) << 2)
# ERROR-NEXT: {{^}}             ^~~~~~~~~~{{$}}
# ERROR-NOT: error:
