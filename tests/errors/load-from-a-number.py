# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.store(p, tl.load(n))

# ERROR: load-from-a-number.py:8:25: error: `load` needs a pointer, got `int32`
# ERROR-NOT: error:
