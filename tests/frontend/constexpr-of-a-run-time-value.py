# A constexpr variable of a run-time value is an ordinary variable, and a remark says so.
# RUN: pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --target sm_90a --remarks 2>&1 | FileCheck %s --check-prefix=REMARK
# RUN: pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile | FileCheck %s --check-prefix=TILE
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p, n):
    width: tl.constexpr = n
    known: tl.constexpr = 16
    # TILE: %[[SUM:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
    # TILE: arith.sitofp %[[SUM]] : i32 to f32
    tl.store(p, width + known)
    # TILE: tile.arange 0, 16
    tl.store(p + tl.arange(0, known), 1.0)

# REMARK-NOT: remark:
# REMARK: constexpr-of-a-run-time-value.py:10:12: remark: this is no constexpr but an ordinary variable: its value, `int32`, is known at run time only
# REMARK-NOT: remark:
