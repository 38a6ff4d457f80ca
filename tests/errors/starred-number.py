# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = (1, *n)

# ERROR: starred-number.py:8:13: error: `*` takes a tuple, got `int32`
# ERROR-NOT: error:
