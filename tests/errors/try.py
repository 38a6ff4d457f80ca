# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    try:
        tl.store(p, 1.0)
    except ValueError:
        pass

# ERROR: try.py:8:5: error: `try` is not supported in a kernel
# ERROR-NOT: error:
