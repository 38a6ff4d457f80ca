# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.atomic_poll(p, 1))

# ERROR: not-supported-yet.py:8:20: error: `tl.atomic_poll` is not supported yet
# ERROR-NOT: error:
