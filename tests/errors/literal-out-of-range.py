# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.zeros((16,), tl.int8) + 300
    tl.store(p + tl.arange(0, 16), x)

# ERROR: literal-out-of-range.py:8:9: error: `300` is out of range for type `int8`
# ERROR-NOT: error:
