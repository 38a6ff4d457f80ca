# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    block = tl.make_block_ptr(p, (n,), (1,), (0,), (64,), (0,))
    tl.store(p, tl.sum(tl.load(block, mask=tl.arange(0, 64) < n)))

# ERROR: block-pointer-mask.py:9:44: error: `mask` cannot be given for a block pointer; `boundary_check` masks what lies outside of the array
# ERROR-NOT: error:
