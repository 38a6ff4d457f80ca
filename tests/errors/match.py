# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    match n:
        case 1:
            tl.store(p, 1.0)
        case _:
            tl.store(p, 2.0)

# ERROR: match.py:8:5: error: `match` is not supported in a kernel; use `if` and `elif`
# ERROR-NOT: error:
