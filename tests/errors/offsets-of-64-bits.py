# RUN: not pantilec %s --kernel kernel --signature "*i32, i64" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    block = tl.make_block_ptr(p, (n,), (1,), (n,), (64,), (0,))
    tl.store(block, 1)

# ERROR: offsets-of-64-bits.py:8:46: error: `offsets` must be `int32`, got `int64`; convert with `.to(tl.int32)`
# ERROR-NOT: error:
