# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.aggregate
class Span:
    low: tl.tensor
    high: tl.tensor

    def __init__(self, low):
        self.low = low


@triton.jit
def kernel(p, n):
    s = Span(n)
    tl.store(p, s.low)

# ERROR: aggregate-field-not-set.py:17:9: error: the constructor of `Span` does not set `high`
# ERROR-NOT: error:
