# What complex numbers are not converted to, and operations that have no complex operands.
# RUN: not pantilec %s --kernel kernel --signature "*c64, *fp64, *fp32, *kc64, *i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, q, r, s, t):
    i = tl.arange(0, 32)
    z, x = tl.load(p + i), tl.load(q + i)
    a = z * x
    b = tl.complex(x, 1)
    tl.store(r + i, z)
    c = z.to(tl.float16)
    d = tl.full((4,), 1j, tl.float32)
    e = z + "text"
    f = z + tl.load(p + tl.arange(0, 16))
    tl.store(s + i, z)
    tl.atomic_add(p + i, z)
    g = tl.make_tensor_descriptor(p, (8, 8), (8, 1), (4, 4))
    h = tl.complex(z, 1)
    j = float(z)
    k = int(1j)
    m = tl.dot(tl.zeros((16, 16), tl.complex64), tl.zeros((16, 16), tl.float16))
    n = tl.dot(tl.zeros((16, 16), tl.complex64), tl.zeros((16, 16), tl.complex64), out_dtype=tl.float16)
    o = tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.complex64))
    u, v = z[0]
    w = tl.load(t + z)

# ERROR: complex-kinds.py:11:9: error: a complex number with parts of `fp64[32]` would be complex128, which the language has not; `.to(tl.float32)` makes them those of a complex64
# ERROR: complex-kinds.py:12:20: error: a complex number with parts of `fp64[32]` would be complex128
# ERROR: complex-kinds.py:13:21: error: cannot cast `complex64[32]` to `fp32`; `.real` is its real part
# ERROR: complex-kinds.py:14:9: error: cannot cast `complex64[32]` to `fp16`; `.real` is its real part
# ERROR: complex-kinds.py:15:23: error: cannot cast complex to `fp32`; `.real` is its real part
# ERROR: complex-kinds.py:16:9: error: `+` takes no `complex64[32]` and string
# ERROR: complex-kinds.py:17:9: error: cannot broadcast `complex64[32]` and `complex64[16]` to one shape
# ERROR: complex-kinds.py:18:14: error: cannot store through a pointer to const
# ERROR: complex-kinds.py:19:19: error: `atomic_add` takes no pointer to `complex64`
# ERROR: complex-kinds.py:20:35: error: a tensor descriptor has no elements of `complex64`
# ERROR: complex-kinds.py:21:20: error: `complex` takes real numbers, got `complex64[32]`
# ERROR: complex-kinds.py:22:15: error: `float` takes no `complex64[32]`; `.real` is its real part
# ERROR: complex-kinds.py:23:13: error: `int` takes no complex; `.real` is its real part
# ERROR: complex-kinds.py:24:50: error: `dot` with an operand of `complex64` takes `complex64` and `fp32`, got `fp16`
# ERROR: complex-kinds.py:25:94: error: a dot of `complex64` gives `complex64`, got `fp16`
# ERROR: complex-kinds.py:26:80: error: the accumulator of this dot must be `fp32[16, 16]`, got `complex64[16, 16]`
# ERROR: complex-kinds.py:27:5: error:
# ERROR: complex-kinds.py:28:17: error: expected a real number or tile, got `complex64[32]`; `.real` and `.imag` are its parts
# ERROR-NOT: error:
