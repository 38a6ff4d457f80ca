# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    block = tl.make_block_ptr(p, (n,), (1,), (0,), (64,), (0,))
    tl.store(block, tl.load(block, boundary_check=(0,), padding_option="nan"))

# ERROR: padding-nan-of-integers.py:9:72: error: `padding_option` "nan" needs floats, got `int32`
# ERROR-NOT: error:
