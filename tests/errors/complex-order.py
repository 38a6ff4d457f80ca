# Complex numbers have no order: an operation that needs one is refused at its operand.
# RUN: not pantilec %s --kernel kernel --signature "*c64, *complex64, *fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, q, r):
    i = tl.arange(0, 32)
    z, x = tl.load(p + i), tl.load(r + i)
    a = (x > 0) & (z < x)
    b = 1 < 2 < 3j
    c = tl.maximum(x, z)
    d = tl.sort(z)
    e = tl.max(z, 0)
    f = z.argmin(0)
    g = x + z // 2
    h = 3 % z
    j = ~z
    k = z if z else x
    m = tl.exp(z)
    n = tl.where(z, 1j, 0)
    o = max(z, x)

# ERROR: complex-order.py:11:20: error: `<` takes no `complex64[32]` and `fp32[32]`: complex numbers have no order; `tl.abs`, `.real` and `.imag` have one
# ERROR-NEXT: a = (x > 0) & (z < x)
# ERROR-NEXT: {{^}}                   ^~~~~
# ERROR: complex-order.py:12:13: error: `<` takes no int and complex: complex numbers have no order
# ERROR: complex-order.py:13:23: error: `maximum` takes no `complex64[32]`: complex numbers have no order
# ERROR: complex-order.py:14:17: error: `sort` takes no `complex64[32]`: complex numbers have no order
# ERROR: complex-order.py:15:16: error: `max` takes no `complex64[32]`: complex numbers have no order
# ERROR: complex-order.py:16:9: error: `argmin` takes no `complex64[32]`: complex numbers have no order
# ERROR: complex-order.py:17:13: error: `//` takes no `complex64[32]`
# ERROR: complex-order.py:18:13: error: `%` takes no `complex64[32]`
# ERROR: complex-order.py:19:9: error: `~` takes no `complex64[32]`
# ERROR: complex-order.py:20:14: error: a condition must be a scalar, got `complex64[32]`; `tl.where` chooses by element
# ERROR: complex-order.py:21:16: error: expected a real number or tile, got `complex64[32]`; `.real` and `.imag` are its parts
# ERROR: complex-order.py:23:13: error: `max` takes no `complex64[32]`: complex numbers have no order
# ERROR-NOT: error:
