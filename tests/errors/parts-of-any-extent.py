# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, i):
    y = tl.zeros((48, 4), tl.float32)
    x = tl.load(p + tl.arange(0, 48)[:, None] + tl.arange(0, 4)[None, :])
    tl.store(p, tl.sum(x[0:16]))
    tl.store(p, x[i, 0])
    x[0:16] = 1.0
    tl.cat((y, y), dim=1)

# ERROR: parts-of-any-extent.py:10:{{[0-9]+}}: error: a part of `fp32[48, 4]` is neither taken nor replaced: its extents are not all powers of two
# ERROR: parts-of-any-extent.py:11:{{[0-9]+}}: error: a part of `fp32[48, 4]` is neither taken nor replaced
# ERROR: parts-of-any-extent.py:12:{{[0-9]+}}: error: a part of `fp32[48, 4]` is neither taken nor replaced
# ERROR: parts-of-any-extent.py:13:{{[0-9]+}}: error: a tile of `fp32[48, 4]` is put into no other: its extents are not all powers of two
# ERROR-NOT: error:
