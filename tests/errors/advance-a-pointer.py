# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    p = tl.advance(p, (1,))

# ERROR: advance-a-pointer.py:8:20: error: `advance` needs a block pointer, got `pointer<int32>`
# ERROR-NOT: error:
