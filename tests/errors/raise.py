# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    if n > 3:
        raise ValueError("too many")
    tl.store(p, 1.0)

# ERROR: raise.py:9:9: error: `raise` is not supported in a kernel; `tl.static_assert` and `tl.device_assert` stop with a message
# ERROR-NOT: error:
