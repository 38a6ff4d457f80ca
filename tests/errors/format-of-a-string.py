# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    tl.static_print(f"{'abc':d}")

# ERROR: format-of-a-string.py:8:24: error: `d` is no format of a string
# ERROR-NOT: error:
