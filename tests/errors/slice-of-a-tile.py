# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, x[4:2])
    tl.store(p, x[::0])
    tl.store(p, x[..., ...])
    tl.store(p, x[0:n])

# ERROR: slice-of-a-tile.py:9:19: error: a slice of dimension 0 of `fp32[16]` has no elements
# ERROR: slice-of-a-tile.py:10:19: error: slice step cannot be zero
# ERROR: slice-of-a-tile.py:11:17: error: an index can only have a single ellipsis
# ERROR: slice-of-a-tile.py:12:19: error: a slice's bound must be
# ERROR-NOT: error:
