# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    values = [1.0]
    values.append(2.0)
    tl.store(p, values[0])

# ERROR: append-to-a-list.py:9:12: error: a tuple has no attribute `append`; lists do not grow in place, `values + (x,)` is a longer one
# ERROR-NOT: error:
