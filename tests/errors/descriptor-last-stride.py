# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    d = tl.make_tensor_descriptor(p, [n, n], [1, n], [8, 8])
    d.store([0, 0], d.load([8, 8]))

# ERROR: descriptor-last-stride.py:8:46: error: the last stride of a tensor descriptor must be 1 at compile time, got `int32`
# ERROR-NOT: error:
