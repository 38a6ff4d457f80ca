# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.aggregate
class Span:
    low: tl.tensor

    def __init__(self, low):
        self.low = low
        self.lo = low


@triton.jit
def kernel(p, n):
    s = Span(n)
    tl.store(p, s.low)

# ERROR: aggregate-unknown-field.py:12:14: error: `Span` has no field `lo`; its annotations name the fields
# ERROR: note:
# ERROR-NOT: error:
