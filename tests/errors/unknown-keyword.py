# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p, msk=None))

# ERROR: unknown-keyword.py:8:28: error: `load` has no parameter `msk`
# ERROR-NOT: error:
