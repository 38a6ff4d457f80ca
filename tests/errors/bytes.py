# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.static_print(b"text")

# ERROR: bytes.py:8:21: error: a bytes string is not supported in a kernel; use a string
# ERROR-NOT: error:
