# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    @triton.jit
    def double(x):
        return x * 2

    tl.store(p, double(1.0))

# ERROR: decorated-inner-function.py:8:6: error: a function inside a kernel takes no decorators; it is compiled with the kernel
# ERROR: decorated-inner-function.py:12:17: error: `double` is not defined
# ERROR-NOT: error:
