"""The kernel of inductor_launchers.py, as Inductor writes them."""

import triton
import triton.language as tl


@triton.jit
def weighted_sum(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    i = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    mask = i < xnumel
    value = tl.load(in_ptr0 + i, mask) + tl.load(in_ptr1 + i, mask) * tl.load(in_ptr2 + i, mask)
    tl.store(out_ptr0 + i, value, mask)
