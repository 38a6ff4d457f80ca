# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    add = lambda a, b: a + b
    tl.store(p, add(1.0))

# ERROR: lambda-arguments.py:9:17: error: `lambda` lacks the argument `b`
# ERROR: lambda-arguments.py:8:21: note: `b` has no default
# ERROR-NOT: error:
