# RUN: not pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def choose(n):
    if n > 0:
        return n


@triton.jit
def kernel(p, n):
    tl.store(p, choose(n))

# ERROR: return-on-some-paths.py:9:9: error: `choose` returns a value on some paths only
# ERROR: return-on-some-paths.py:14:17: note: in the call of `choose`
# ERROR-NOT: error:
