# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    sizes = {"a": 1}
    tl.store(p, 1.0)

# ERROR: dictionary.py:8:13: error: a dictionary is not supported in a kernel
# ERROR-NOT: error:
