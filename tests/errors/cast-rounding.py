# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    c = tl.zeros((32,), tl.float16).to(tl.float32, fp_downcast_rounding="rtz")
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: cast-rounding.py:8:73: error: `fp_downcast_rounding` goes with a cast to a smaller float, not from `fp16` to `fp32`
# ERROR-NOT: error:
