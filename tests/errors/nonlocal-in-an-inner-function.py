# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    def add():
        nonlocal n
        n += 1

    add()

# ERROR: nonlocal-in-an-inner-function.py:9:9: error: `nonlocal` is not supported in a kernel; return the new value instead
# ERROR: nonlocal-in-an-inner-function.py:12:5: note: in the call of `add`
# ERROR-NOT: error:
