# RUN: not pantilec %s --kernel kernel --signature "*i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.atomic_load(p, sem="release"))

# ERROR: atomic-load-releases.py:8:39: error: `atomic_load` only supports acquire and relaxed semantics, got release
# ERROR-NOT: error:
