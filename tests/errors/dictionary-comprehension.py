# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    values = {i: i for i in range(3)}
    tl.store(p, 1.0)

# ERROR: dictionary-comprehension.py:8:14: error: a dictionary comprehension is not supported in a kernel; use a tuple or a NamedTuple
# ERROR-NOT: error:
