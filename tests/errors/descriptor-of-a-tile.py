# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    d = tl.make_tensor_descriptor(p + tl.arange(0, 16), [n, n], [n, 1], [8, 8])
    d.store([0, 0], tl.zeros((8, 8), tl.float32))

# ERROR: descriptor-of-a-tile.py:8:35: error: `make_tensor_descriptor` needs a scalar pointer, got `pointer<fp32>[16]`
# ERROR-NOT: error:
