# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.aggregate
class Block:
    size: tl.constexpr


@triton.jit
def kernel(p, n):
    b = Block(n)
    tl.store(p, b.size)

# ERROR: aggregate-constexpr-field.py:13:15: error: `size` of `Block` is a constexpr, got `int32`
# ERROR-NOT: error:
