# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, 1.0, **{"mask": None})

# ERROR: keywords-of-a-call.py:8:24: error: `**` in a call is not supported in a kernel
# ERROR-NOT: error:
