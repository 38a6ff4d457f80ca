# RUN: not pantilec %s --kernel kernel --signature "*i32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    if (n, 1) == (2, 1):
        tl.store(p, 1)

# ERROR: tuple-compare-run-time.py:8:8: error: `==` compares the compile-time parts of tuples; this part is `int32`
# ERROR-NOT: error:
