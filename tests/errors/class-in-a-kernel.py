# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    class Point:
        x = 1

    tl.store(p, Point.x)

# ERROR: class-in-a-kernel.py:8:5: error: `class` is not supported in a kernel; define it outside with `triton.aggregate`, or use a NamedTuple
# ERROR-NOT: error:
