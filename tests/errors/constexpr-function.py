# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.constexpr_function
def squares(count):
    return [i * i for i in range(count)]


@triton.jit
def kernel(p):
    tl.store(p, squares(3)[2])

# ERROR: constexpr-function.py:13:17: error: the global variable `squares` is a constexpr function of a file that is compiled without Python, which a kernel cannot use
# ERROR-NOT: error:
