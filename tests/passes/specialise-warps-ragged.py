# Accesses with data-dependent rows, and modulo-wrapped indices of tiles that fill their range.
# DEFINE: %{sig} = *fp16:16, *fp16:16, *fp16:16, i32:16, i32, i32:16
# DEFINE: %{run} = pantilec %s --no-cache --emit pipeline -o -
# RUN: %{run} --kernel starts_anywhere --signature "%{sig}, *i32:16" | FileCheck %s --check-prefix=ANYWHERE
# RUN: %{run} --kernel picks --signature "%{sig}, *i32:16" | FileCheck %s --check-prefix=PICKS
# RUN: %{run} --kernel ends --signature "%{sig}, *i32:16" | FileCheck %s --check-prefix=ENDS
# RUN: %{run} --kernel wraps --signature "%{sig}" | FileCheck %s --check-prefix=WRAPS
# RUN: %{run} --kernel wraps --signature "*fp16:16, *fp16:16, *fp16:16, i32:64, i32, i32:16" | FileCheck %s --check-prefix=FITS
# RUN: %{run} --kernel splits --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16" | FileCheck %s --check-prefix=SPLITS
# RUN: %{run} --kernel batches --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16" | FileCheck %s --check-prefix=BATCHES
# RUN: %{run} --kernel before --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16" | FileCheck %s --check-prefix=BEFORE
# RUN: %{run} --kernel lengths --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, *i32:16" | FileCheck %s --check-prefix=LENGTHS
import pantile as triton
import pantile.language as tl

B: tl.constexpr = 64


@triton.jit
def matmul(a_rows, ends_a, b, n, depth, stride):
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a_rows + (k + within)[None, :], mask=ends_a)
        acc = tl.dot(x, tl.load(b + (k + within)[:, None] * stride + (n + within)[None, :]), acc)
    return acc


@triton.jit
def write(c, acc, stride):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(c + rows[:, None] * stride + cols[None, :], acc.to(tl.float16))


# Rows count from 2^30 before the first; as many steps of 2^34 bytes less the stride lead back, modulo 2^64.
# ANYWHERE: affine_map<(){{.*}} -> (s5 * 2, s5 * -2 + 17179869184)>
# ANYWHERE: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64, 1>
# ANYWHERE: %[[FIRST:.*]] = tile.load
# ANYWHERE: nv.producer {
# ANYWHERE: %[[WIDE:.*]] = arith.extsi %[[FIRST]] : i32 to i64
# ANYWHERE: arith.addi %[[WIDE]], %c1073741824
# ANYWHERE: arith.minsi
# ANYWHERE: arith.maxsi
# ANYWHERE: nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %c1073741824
@triton.jit
def starts_anywhere(a, b, c, m, depth, stride, table):
    rows = tl.load(table + tl.program_id(0)) + tl.arange(0, B)
    acc = matmul(a + rows[:, None] * stride, None, b, tl.program_id(1) * B, depth, stride)
    write(c, acc, stride)


# PICKS: nv.tensor_map {base = 1 : i32, box = array<i32: 64, 64, 1, 1>
# PICKS: nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %c1073741824
@triton.jit
def picks(a, b, c, m, depth, stride, table):
    matrix = tl.load(table + tl.program_id(0))
    rows = tl.program_id(0) * B + tl.arange(0, B)
    acc = matmul(a + rows[:, None] * stride, None, b + matrix * m, tl.program_id(1) * B, depth, stride)
    write(c, acc, stride)


# The end is a coordinate, and the extent a constant.
# ENDS: affine_map<(){{.*}} -> (2147483647, 1073741824, 2147483647, 2147483647)>
# ENDS: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64, 1, 1>
# ENDS: nv.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %c1073741824
@triton.jit
def ends(a, b, c, m, depth, stride, table):
    start = tl.load(table + tl.program_id(0))
    end = tl.load(table + tl.program_id(0) + 1)
    rows = start + tl.arange(0, B)
    acc = matmul(a + rows[:, None] * stride, rows[:, None] < end, b, tl.program_id(1) * B, depth, stride)
    write(c, acc, stride)


# All rows are used: the host looks whether tiles fill `m`, unless it is known.
# WRAPS: affine_map<(){{.*}} -> (s3)>
# WRAPS: nv.tensor_map {base = 0 : i32, {{.*}}divisors = array<i64: 64>
# WRAPS: arith.remui
# WRAPS: nv.tma_load
# FITS-NOT: divisors
# FITS: nv.producer {
@triton.jit
def wraps(a, b, c, m, depth, stride):
    rows = (tl.program_id(0) * B + tl.arange(0, B)) % m
    acc = matmul(a + rows[:, None] * stride, None, b, tl.program_id(1) * B, depth, stride)
    write(c, acc, stride)


# A part of K that begins at a wide number: the launch finds whether it fits, from the grid's second extent.
# SPLITS: affine_map<(){{.*}} -> (s6 * -2048 + 214748{{[0-9]+}})>
# SPLITS: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, conditions =
# SPLITS: nv.producer {
@triton.jit
def splits(a, b, c, depth, stride):
    r = tl.arange(0, B)
    begin = tl.program_id(1).to(tl.int64) * 2048
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, 2048, B):
        deep = begin + k + r
        x = tl.load(a + r[:, None] * stride + deep[None, :], mask=deep[None, :] < depth, other=0.0)
        y = tl.load(b + deep[:, None] * B + r[None, :], mask=deep[:, None] < depth, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + tl.program_id(1) * B * B + r[:, None] * B + r[None, :], acc)


# A wide step between matrices is a dimension of its own; how often the pointer advances is known to the launch.
# BATCHES: affine_map<(){{.*}} -> (-s3 + 2147483584)>
# BATCHES: affine_map<(){{.*}} -> (s4 * 2, 80128)>
# BATCHES: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64, 1>, conditions =
# BATCHES: nv.producer {
@triton.jit
def batches(a, b, c, depth, stride):
    r = tl.arange(0, B)
    x = a + tl.program_id(0).to(tl.int64) * 40064 + r[:, None] * stride + r[None, :]
    y = b + r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, tl.cdiv(depth, B)):
        acc = tl.dot(tl.load(x), tl.load(y), acc)
        x += B
        y += B * B
    tl.store(c + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], acc)


# BEFORE: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, conditions =
# BEFORE: nv.producer {
@triton.jit
def before(a, b, c, depth, stride):
    r = tl.arange(0, B)
    rows = tl.maximum(tl.program_id(0) - 1, 0).to(tl.int64) * B + r
    acc = matmul(a + rows[:, None] * stride, None, b, 0, depth, stride)
    tl.store(c + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], acc)


# A loop whose end memory has: its counter has 32 bits.
# LENGTHS: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 64>, element
# LENGTHS: nv.producer {
@triton.jit
def lengths(a, b, c, depth, stride, table):
    r = tl.arange(0, B)
    x = a + (tl.program_id(0) * B + r)[:, None] * stride + r[None, :]
    y = b + r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, tl.load(table + tl.program_id(0)), B):
        acc = tl.dot(tl.load(x), tl.load(y), acc)
        x += B
        y += B * B
    tl.store(c + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], acc)
