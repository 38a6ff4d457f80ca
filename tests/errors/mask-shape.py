# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    offs = tl.arange(0, 16)
    tl.store(p + offs, 1.0, mask=tl.arange(0, 32) < 5)

# ERROR: mask-shape.py:9:34: error: cannot broadcast the mask `int1[32]` to the pointers `pointer<fp32>[16]`
# ERROR-NOT: error:
