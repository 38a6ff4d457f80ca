# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    import math
    tl.store(p, math.pi)

# ERROR: import-in-a-kernel.py:8:5: error: `import` is not supported in a kernel; import at the top of the file
# ERROR-NOT: error:
