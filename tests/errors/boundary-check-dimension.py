# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    block = tl.make_block_ptr(p, (n,), (1,), (0,), (64,), (0,))
    tl.store(block, tl.load(block, boundary_check=(1,)))

# ERROR: boundary-check-dimension.py:9:51: error: `boundary_check` names dimension 1 of a block of rank 1
# ERROR-NOT: error:
