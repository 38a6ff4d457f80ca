# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p, cache_modifier=".zz"))

# ERROR: unknown-cache-modifier.py:8:43: error: cache modifier ".zz" is not supported; it is ".ca", ".cg", ".cs" or ".cv"
# ERROR-NOT: error:
