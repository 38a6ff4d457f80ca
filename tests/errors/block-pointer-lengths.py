# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    block = tl.make_block_ptr(p, (n, n), (n,), (0, 0), (64, 64), (1, 0))
    tl.store(block, 1.0)

# ERROR: block-pointer-lengths.py:8:13: error: `shape`, `strides`, `offsets` and `block_shape` differ in length
# ERROR-NOT: error:
