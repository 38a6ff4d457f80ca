# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.reduce(tl.zeros((16,), tl.float32), 0, 3)
    tl.store(p, x)

# ERROR: combine-function.py:8:51: error: `combine_fn` must be a function, got a int
# ERROR-NOT: error:
