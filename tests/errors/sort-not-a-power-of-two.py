# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 48))
    tl.store(p + tl.arange(0, 48), tl.sort(x))

# ERROR: error: elements are sorted and flipped along a power of two, got 48 in `int32[48]`
