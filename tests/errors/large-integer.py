# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = 1 << 70

# ERROR: large-integer.py:8:9: error: `1180591620717411303424` does not fit into 64 bits
# ERROR-NOT: error:
