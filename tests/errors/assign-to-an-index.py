# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    x = tl.load(p + tl.arange(0, 16))
    p[n] = 0.0
    pair = (n, n)
    pair[0] = 1
    (x + 1.0)[n] = 0.0
    x.to(tl.int8)[:2] += 1

    def inner(i):
        x[i] = 0.0

    inner(n)
    bytes = x.to(tl.int8)
    bytes[n] = 128
    x[0:4] = x[8:10]
    tl.store(p, 1.0)

# ERROR: assign-to-an-index.py:9:5: error: assignment to an index of a `pointer<fp32>` is not supported in a kernel; `tl.store` writes to memory, and tuples do not change
# ERROR: assign-to-an-index.py:11:5: error: assignment to an index of a tuple
# ERROR: assign-to-an-index.py:12:6: error: a part of a tile that has no name is assigned to
# ERROR: assign-to-an-index.py:13:5: error: a part of a tile that has no name is assigned to
# ERROR: assign-to-an-index.py:16:9: error: `x` is a tile of the function around this one, and a tile does not change
# ERROR: assign-to-an-index.py:20:5: error: `128` is out of range for type `int8`
# ERROR: assign-to-an-index.py:21:5: error: could not broadcast input from shape [2] into shape [4] of a part of `fp32[16]`
# ERROR-NOT: error:
