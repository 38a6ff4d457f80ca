# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    a = sorted((n, 2))
    tl.store(p, a[0])

# ERROR: sort-of-run-time-values.py:8:16: error: `sorted` takes compile-time values of one kind, got `int32`; `tl.sort` sorts a tile
# ERROR-NOT: error:
