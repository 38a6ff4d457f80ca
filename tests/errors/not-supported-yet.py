# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.sort(tl.load(p + tl.arange(0, 16))))

# ERROR: not-supported-yet.py:8:20: error: `tl.sort` is not supported yet
# ERROR-NOT: error:
