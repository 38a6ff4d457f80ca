# A program that holds a row prefetches to L2 the row four megabytes after it, or, in a loop over rows, its own next one; weights, gathers, small and very large rows are left alone.
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D BLOCK=8192 --no-cache --emit pipeline | FileCheck %s --check-prefix=NORM
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D BLOCK=8192 --no-cache --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D BLOCK=2048 --target sm_80 --num-warps 8 --no-cache --emit ptx | FileCheck %s --check-prefix=FEW
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D BLOCK=1024 --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D BLOCK=131072 --num-warps 32 --disable-pass nv-split-over-cluster --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16" -D BLOCK=8192 --disable-pass nv-prefetch-rows --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel rows --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=ROWS
# RUN: pantilec %s --kernel norm --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16" -D BLOCK=1024 --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel residual --signature "*fp32:16, *fp32:16, *fp32:16, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel strided --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel listed --signature "*fp32:16, *fp32:16, *i32:16, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel optional --signature "*fp32:16, *fp32:16, *fp32:16, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=OPTIONAL
# RUN: pantilec %s --kernel guarded --signature "*fp32:16, *fp32:16, i32, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32" -D STAGES=1 --no-cache --emit pipeline | FileCheck %s --check-prefix=NEXT
# RUN: pantilec %s --kernel walk --signature "*fp32:16, *fp32:16, i32, i32" -D STAGES=2 --no-cache --emit pipeline | FileCheck %s --check-prefix=THEN
# RUN: pantilec %s --kernel columns --signature "*fp32:16, *fp32:16, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel double --signature "*fp32:16, *fp32:16, i32" --no-cache --emit pipeline | FileCheck %s --check-prefix=PLAIN
import pantile as triton
import pantile.language as tl


# Rows of 16 KiB: 256 of them are four megabytes. 128 lines, 128 threads; the mask of the other row, and that it exists.
# NORM: #[[LINES:.*]] = #tile.layout<{{.*}}reg = [], lane = {{\[\[}}64], [128], [256], [512], [1024]]{{.*}}warp = {{\[\[}}2048], [4096]]
# NORM: %[[AHEAD:.*]] = arith.constant 256 : i32
# NORM: %[[NUMBER:.*]] = tile.program_id 0
# NORM: tile.load
# NORM: %[[COUNT:.*]] = tile.num_programs 0
# NORM: %[[REST:.*]] = arith.subi %[[COUNT]], %[[AHEAD]]
# NORM: %[[EXISTS:.*]] = arith.cmpi slt, %[[NUMBER]], %[[REST]]
# NORM: %[[LATER:.*]] = arith.addi %[[NUMBER]], %[[AHEAD]]
# NORM: tile.splat %[[EXISTS]]
# NORM: arith.muli %[[LATER]]
# NORM: nv.prefetch {{.*}} mask {{.*}} #[[LINES]]>
# NORM-NOT: nv.prefetch
# NORM: tile.reduce
# NORM: tile.load
# NORM-NOT: nv.prefetch
# PTX: ld.global.v4
# PTX-COUNT-1: prefetch.global.L2 [%rd{{[0-9]+}}];
# PTX-NOT: prefetch.global
# PTX: bar.sync
# 32 lines, 256 threads: each line once.
# FEW: setp
# FEW-COUNT-1: prefetch.global.L2
# FEW-NOT: prefetch.global
# PLAIN-NOT: nv.prefetch
# PLAIN: tile.load
# PLAIN-NOT: nv.prefetch
@triton.jit
def norm(x_ptr, y_ptr, w_ptr, stride, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + tl.program_id(0) * stride + cols, mask=mask, other=0.0).to(tl.float32)
    rms = tl.sqrt(tl.sum(x * x, axis=0) / n)
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + tl.program_id(0) * stride + cols, x / rms * w, mask=mask)


# 4 rows of 4 KiB: 32 lines per row, one row per warp.
# ROWS: #[[LINES:.*]] = #tile.layout<{{.*}}reg = [], lane = {{\[\[}}0, 32], [0, 64], [0, 128], [0, 256], [0, 512]]{{.*}}warp = {{\[\[}}1, 0], [2, 0]]
# ROWS: arith.constant 256 : i32
# ROWS: nv.prefetch {{.*}} #[[LINES]]>
@triton.jit
def rows(x_ptr, y_ptr, count, n):
    r = tl.program_id(0) * 4 + tl.arange(0, 4)
    cols = tl.arange(0, 1024)
    at = r[:, None] * n + cols[None, :]
    mask = (r[:, None] < count) & (cols[None, :] < n)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + at, x - tl.max(x, axis=1)[:, None], mask=mask)


# Two rows per program.
@triton.jit
def residual(x_ptr, r_ptr, y_ptr, n):
    at = tl.program_id(0) * n + tl.arange(0, 4096)
    x = tl.load(x_ptr + at) + tl.load(r_ptr + at)
    tl.store(y_ptr + at, x - tl.max(x, axis=0))


# Columns that do not lie side by side.
@triton.jit
def strided(x_ptr, y_ptr, stride, n):
    cols = tl.arange(0, 4096)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols * stride)
    tl.store(y_ptr + tl.program_id(0) * n + cols, x - tl.max(x, axis=0))


# The number of the row is in memory.
@triton.jit
def listed(x_ptr, y_ptr, list_ptr, n):
    cols = tl.arange(0, 4096)
    row = tl.load(list_ptr + tl.program_id(0))
    x = tl.load(x_ptr + row * n + cols)
    tl.store(y_ptr + row * n + cols, x - tl.max(x, axis=0))


# Not every program loads.
@triton.jit
def guarded(x_ptr, y_ptr, count, n):
    cols = tl.arange(0, 4096)
    if tl.program_id(0) < count:
        x = tl.load(x_ptr + tl.program_id(0) * n + cols)
        tl.store(y_ptr + tl.program_id(0) * n + cols, x - tl.max(x, axis=0))


# A branch next to the row.
# OPTIONAL: tile.load
# OPTIONAL: nv.prefetch
# OPTIONAL: scf.if
@triton.jit
def optional(x_ptr, y_ptr, most_ptr, n):
    at = tl.program_id(0) * n + tl.arange(0, 4096)
    x = tl.load(x_ptr + at)
    most = tl.max(x, axis=0)
    if n > 4000:
        tl.store(most_ptr + tl.program_id(0), most)
    tl.store(y_ptr + at, x - most)


# The next iteration's row; where that is in registers already, the one after it.
# NEXT: %[[STEP:.*]] = tile.num_programs 0
# NEXT: %[[FITS:.*]] = arith.cmpi sle, %[[STEP]], %c960_i32
# NEXT: scf.for %[[ROW:.*]] = {{.*}} to %[[BOUND:.*]] step %[[STEP]]
# NEXT: tile.load
# NEXT: %[[LEFT:.*]] = arith.subi %[[BOUND]], %[[ROW]]
# NEXT: %[[EXISTS:.*]] = arith.cmpi ugt, %[[LEFT]], %[[STEP]]
# NEXT: arith.addi %[[ROW]], %[[STEP]]
# NEXT: arith.andi %[[EXISTS]], %[[FITS]]
# NEXT: nv.prefetch
# NEXT-NOT: nv.prefetch
# THEN: tile.load
# THEN: arith.cmpi sle, {{.*}}, %c480_i32
# THEN: scf.for %[[ROW:.*]] = {{.*}} to %[[BOUND:.*]] step %[[STEP:[^ ]*]] iter_args
# THEN: %[[LEFT:.*]] = arith.subi %[[BOUND]], %[[ROW]]
# THEN: %[[FOLLOWING:.*]] = arith.addi %[[ROW]], %[[STEP]]
# THEN: %[[MINE:.*]] = tile.load
# THEN: arith.subi %[[BOUND]], %[[FOLLOWING]]
# THEN: arith.addi %[[FOLLOWING]], %[[STEP]]
# THEN: nv.prefetch
# THEN: scf.yield %[[MINE]]
@triton.jit
def walk(x_ptr, y_ptr, count, n, STAGES: tl.constexpr):
    cols = tl.arange(0, 4096)
    for row in tl.range(tl.program_id(0), count, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * n + cols)
        tl.store(y_ptr + row * n + cols, x - tl.max(x, axis=0))


# A row in steps: the next one is a neighbour.
@triton.jit
def columns(x_ptr, y_ptr, n):
    most = -float("inf")
    for start in range(0, n, 4096):
        x = tl.load(x_ptr + tl.program_id(0) * n + start + tl.arange(0, 4096))
        most = tl.maximum(most, tl.max(x, axis=0))
    tl.store(y_ptr + tl.program_id(0), most)


# Nothing is reduced: such programs load and store side by side anyway.
@triton.jit
def double(x_ptr, y_ptr, n):
    at = tl.program_id(0) * 4096 + tl.arange(0, 4096)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
