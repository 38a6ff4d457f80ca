# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


limits = compute_limits()


@triton.jit
def kernel(p):
    tl.store(p, limits[0])

# ERROR: opaque-global.py:11:17: error: the global variable `limits` is a value that is not a compile-time constant, which a kernel cannot use
# ERROR-NOT: error:
