# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, tl.sum(tl.gather(x, x[:, None], 0)))

# ERROR: gather-ranks.py:{{[0-9]+}}:{{[0-9]+}}: error: source and index tensors must have the same rank, got `int32[16]` and `int32[16, 1]`
# ERROR-NOT: error:
