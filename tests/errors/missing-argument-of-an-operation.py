# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p)

# ERROR: missing-argument-of-an-operation.py:8:5: error: `store` lacks the argument `value`; it takes `pointer`, `value`
# ERROR-NOT: error:
