# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    for i in range(0, 10, 0):
        tl.store(p + i, 1.0)

# ERROR: zero-step.py:8:14: error: the step of a range is 0
# ERROR-NOT: error:
