# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    i = tl.arange(0, 16)
    tl.store(p + i, p + i)

# ERROR: store-a-pointer.py:9:21: error: cannot cast `pointer<fp32>` to `fp32`; `tl.load` reads what pointers point to
# ERROR-NOT: error:
