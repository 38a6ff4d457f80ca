# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def choose(n):
    if n > 0:
        return n
    return (n, 1)


@triton.jit
def kernel(p, n):
    tl.store(p, choose(n))

# ERROR: return-types-differ.py:10:5: error: inconsistent return types: this `return` gives tuple, another one of the function `int32`
# ERROR: return-types-differ.py:9:9: note: the other `return` is here
# ERROR: return-types-differ.py:15:17: note: in the call of `choose`
# ERROR-NOT: error:
