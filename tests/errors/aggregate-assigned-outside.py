# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.aggregate
class Span:
    low: tl.tensor


@triton.jit
def kernel(p, n):
    s = Span(n)
    s.low = n + 1
    tl.store(p, s.low)

# ERROR: aggregate-assigned-outside.py:14:5: error: assignment to an attribute
# ERROR-NOT: error:
