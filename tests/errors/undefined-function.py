# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, relu(1.0))

# ERROR: undefined-function.py:8:17: error: `relu` is not defined
# ERROR-NOT: error:
