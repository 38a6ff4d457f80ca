# RUN: not pantilec %s --kernel kernel --signature "*i8" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.atomic_add(p, 1)

# ERROR: atomic-on-int8.py:8:19: error: `atomic_add` does not support `int8`
# ERROR-NOT: error:
