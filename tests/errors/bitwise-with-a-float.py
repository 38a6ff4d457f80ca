# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, *i32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, q):
    x = tl.load(p)
    n = tl.load(q)
    tl.store(q, n & x)
    tl.store(q, n | 1.5)
    n ^= x
    tl.store(q, x // 2)
    tl.store(p, x & x)

# ERROR: bitwise-with-a-float.py:10:21: error: invalid operands of type `int32` and `fp32`: `&` takes integers
# ERROR: bitwise-with-a-float.py:11:21: error: invalid operands of type `int32` and float: `|` takes integers
# ERROR: bitwise-with-a-float.py:12:10: error: invalid operands of type `int32` and `fp32`: `^` takes integers
# ERROR: bitwise-with-a-float.py:13:17: error: invalid operands of type `fp32` and int: `//` takes integers
# ERROR: bitwise-with-a-float.py:14:17: error: invalid operands of type `fp32` and `fp32`: `&` takes integers
# ERROR-NOT: error:
