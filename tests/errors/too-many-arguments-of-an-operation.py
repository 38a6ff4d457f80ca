# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.program_id(0, 1))

# ERROR: too-many-arguments-of-an-operation.py:8:17: error: `program_id` takes at most 1 argument, got 2
# ERROR-NOT: error:
