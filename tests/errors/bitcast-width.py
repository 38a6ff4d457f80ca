# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p).to(tl.float16, bitcast=True)
    tl.store(p, x)

# ERROR: bitcast-width.py:8:9: error: cannot bitcast `fp32` of 32 bits to `fp16` of 16
# ERROR-NOT: error:
