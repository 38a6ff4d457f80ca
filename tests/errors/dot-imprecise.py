# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    a = tl.zeros((32, 32), tl.float8e5)
    c = tl.dot(a, a, max_num_imprecise_acc=64)
    tl.store(p, tl.sum(c).to(tl.float32))

# ERROR: dot-imprecise.py:9:44: error: max_num_imprecise_acc (64) must be <= K (32) and not negative
# ERROR-NOT: error:
