# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p) ** 2)

# ERROR: power-of-a-tile.py:8:17: error: `**` is supported on compile-time values only
# ERROR-NOT: error:
