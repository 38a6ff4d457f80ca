# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(16)
    tl.store(p + i, 1.0)

# ERROR: arange-with-one-argument.py:8:9: error: `arange` lacks the argument `end`; it takes `start`, `end`
# ERROR-NOT: error:
