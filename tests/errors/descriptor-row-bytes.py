# RUN: not pantilec %s --kernel kernel --signature "*fp16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    d = tl.make_tensor_descriptor(p, [n, n], [n, 1], [64, 4])
    d.store([0, 0], d.load([8, 8]))

# ERROR: descriptor-row-bytes.py:8:54: error: the last dimension of the block must have at least 16 bytes, got 8
# ERROR-NOT: error:
