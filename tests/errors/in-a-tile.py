# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, 1.0 in x)

# ERROR: in-a-tile.py:9:17: error: `in` takes a tuple or a range of constants, got `fp32[16]`
# ERROR-NOT: error:
