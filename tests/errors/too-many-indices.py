# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, x[:, :, None])

# ERROR: too-many-indices.py:9:17: error: too many indices for `fp32[16]`
# ERROR-NOT: error:
