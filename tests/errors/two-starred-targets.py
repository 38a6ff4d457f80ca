# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    *a, *b = (1, 2, 3)

# ERROR: two-starred-targets.py:8:9: error: a tuple of targets has at most one starred target
# ERROR: two-starred-targets.py:8:5: note: the first one
# ERROR-NOT: error:
