# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    u = tl.load(p).to(tl.uint8)
    tl.store(p, (u + -1).to(tl.float32))

# ERROR: negative-literal-for-unsigned.py:9:18: error: an unsigned tensor and a negative scalar: `-1` is out of range for type `uint8`
# ERROR-NOT: error:
