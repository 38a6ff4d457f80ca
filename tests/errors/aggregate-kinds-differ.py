# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.aggregate
class Block:
    size: tl.constexpr
    at: tl.tensor


@triton.jit
def kernel(p, n):
    if n > 4:
        b = Block(8, n)
    else:
        b = Block(16, n)
    tl.store(p, b.at)

# ERROR: aggregate-kinds-differ.py:18:17: error: `b` is `Block` (`8`, `int32`) after one branch of an `if` and `Block` (`16`, `int32`) after the other
# ERROR: note: `Block` (`8`, `int32`) is assigned here
# ERROR: note: `Block` (`16`, `int32`) is assigned here
# ERROR-NOT: error:
