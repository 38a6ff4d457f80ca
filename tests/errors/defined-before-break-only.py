# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    for i in tl.static_range(3):
        if i + n > 3:
            y = 1.0
            break
    tl.store(p, y)

# ERROR: defined-before-break-only.py:12:17: error: `y` is assigned in one branch of an `if` only
# ERROR: defined-before-break-only.py:10:13: note: it is assigned here
# ERROR-NOT: error:
