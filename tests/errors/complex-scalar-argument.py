# RUN: not pantilec %s --kernel kernel --signature "*c64, c64" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
# RUN: not pantilec %s --kernel kernel --signature "tensordesc<complex64[4]>, fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=DESCRIPTOR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, z):
    tl.store(p, z)

# ERROR: error: parameter `z`: `c64` is no type of an argument: a number of type `complex64` cannot be passed; pass its parts, an array of one element, or a constexpr
# DESCRIPTOR: error: parameter `p`: `tensordesc<complex64[4]>` is no type of an argument: a tensor descriptor has no elements of `complex64`; a pointer to them works
