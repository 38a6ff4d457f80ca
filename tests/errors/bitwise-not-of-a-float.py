# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p + tl.arange(0, 16), ~x)

# ERROR: bitwise-not-of-a-float.py:9:36: error: `~` takes no `fp32[16]`
# ERROR-NOT: error:
