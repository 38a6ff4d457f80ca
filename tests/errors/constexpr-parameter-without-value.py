# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, BLOCK=i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    tl.store(p + tl.arange(0, BLOCK), 1.0)

# ERROR: constexpr-parameter-without-value.py:7:15: error: `BLOCK` is a constexpr and needs a value, not a type
