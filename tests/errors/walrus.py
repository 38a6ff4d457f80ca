# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    if (m := n) > 3:
        tl.store(p, m)

# ERROR: walrus.py:8:9: error: `:=` is not supported in a kernel; assign in a statement of its own
# ERROR: walrus.py:9:21: error: `m` is not defined
# ERROR-NOT: error:
