# Results that TMA writes: from pointers, block pointers and descriptors, by rows and by columns, with and without a mask.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --no-cache --enable-pass nv-tma-stores
# RUN: %{run} --kernel by_pointers --emit pipeline | FileCheck %s --check-prefix=POINTERS
# RUN: %{run} --kernel by_pointers -D N=256 --num-warps 8 --emit pipeline | FileCheck %s --check-prefix=TIGHT
# RUN: %{run} --kernel by_pointers -D N=256 --num-warps 8 --disable-pass nv-make-persistent --emit pipeline | FileCheck %s --check-prefix=LATE
# RUN: %{run} --kernel by_block_pointer --emit pipeline | FileCheck %s --check-prefix=BLOCK
# RUN: %{run} --kernel by_descriptor --emit pipeline | FileCheck %s --check-prefix=DESCRIPTOR
# RUN: %{run} --kernel by_columns --emit pipeline | FileCheck %s --check-prefix=COLUMNS
# RUN: %{run} --kernel in_full --emit pipeline | FileCheck %s --check-prefix=FULL
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16" --no-cache --enable-pass nv-tma-stores --kernel in_floats --emit pipeline | FileCheck %s --check-prefix=FLOATS
# RUN: %{run} --kernel by_pointers -D N=32 --target sm_120a --emit pipeline | FileCheck %s --check-prefix=LATER
# RUN: %{run} --kernel by_pointers --target sm_80 --emit pipeline | FileCheck %s --check-prefix=EARLIER
# RUN: %{run} --kernel by_pointers --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: %{run} --kernel by_pointers --disable-pass nv-tma-stores --emit pipeline | FileCheck %s --check-prefix=EARLIER
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --no-cache --kernel by_pointers --emit pipeline | FileCheck %s --check-prefix=PAYS
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --no-cache --kernel by_pointers -D N=256 --num-warps 8 --emit pipeline | FileCheck %s --check-prefix=PAYS
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --no-cache --kernel by_pointers --num-stages 4 --emit pipeline | FileCheck %s --check-prefix=PAYS
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --no-cache --kernel by_pointers -D N=32 --emit pipeline | FileCheck %s --check-prefix=EARLIER
# RUN: %{run} --kernel by_pointers --target sm_90a --emit cubin -o %t.90
# RUN: %{run} --kernel by_columns --target sm_90a --emit cubin -o %t.90c
# RUN: %{run} --kernel by_pointers -D N=32 --target sm_100a --emit cubin -o %t.100
# RUN: %{run} --kernel by_pointers -D N=32 --target sm_120a --emit cubin -o %t.120
import pantile as triton
import pantile.language as tl

M: tl.constexpr = 128
N: tl.constexpr = 128
K: tl.constexpr = 64


@triton.jit
def matmul(a, b, m, n, depth, rows, columns):
    within = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(a + (m + tl.arange(0, M))[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * columns + (n + tl.arange(0, N))[None, :])
        acc = tl.dot(x, y, acc)
    return acc


# The map's extents are the mask's bounds; a warp has 16 rows, which leave in lines of 128 bytes.
# POINTERS-DAG: [[EXTENTS:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4, s3)>
# POINTERS-DAG: [[ZERO:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (0)>
# POINTERS-DAG: [[PITCH:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4 * 2)>
# POINTERS: nv.tensor_map {base = 2 : i32, box = array<i32: 64, 16>, element = f16, extents = [[EXTENTS]], non_negative = array<i32>, offset = [[ZERO]], span = 128 : i32, strides = [[PITCH]]}
# POINTERS: nv.producer
# POINTERS: %[[C:.*]] = arith.truncf
# POINTERS: nv.tma_store %{{.*}}[%{{.*}}, %{{.*}}], %[[C]] {fast = 1 : i32, pieces = 1 : i32}
# POINTERS: nv.tma_store_wait
# POINTERS-NEXT: return
# Next to the circular buffers of 192 KiB two of four pieces fit; where the circular buffers are freed by then, all of them.
# TIGHT: nv.tma_store {{.*}} pieces = 2 : i32}
# LATE: nv.tma_store {{.*}} pieces = 4 : i32}
# By default it is done for tiles of 64x128 elements and more.
# PAYS: nv.tma_store
# LATER: nv.tensor_map
# LATER: nv.tma_store
# EARLIER-NOT: nv.tma_store
# EARLIER: tile.store
# PTX: cp.async.bulk.wait_group.read 0;
# PTX: bar.warp.sync
# PTX-COUNT-8: stmatrix.sync.aligned.m8n8.x4.shared.b16
# PTX: fence.proxy.async.shared::cta;
# PTX: bar.warp.sync
# PTX: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd{{.*}}, {%r{{.*}}, %r{{.*}}}], [%r{{.*}}];
# PTX: cp.async.bulk.commit_group;
# PTX: cp.async.bulk.wait_group.read 0;
# PTX: ret;
@triton.jit
def by_pointers(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = matmul(a, b, m, n, depth, rows, columns)
    at_m, at_n = m + tl.arange(0, M), n + tl.arange(0, N)
    inside = (at_m < rows)[:, None] & (at_n < columns)[None, :]
    tl.store(c + at_m[:, None] * columns + at_n[None, :], acc.to(tl.float16), mask=inside)


# BLOCK-DAG: [[EXTENTS:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4, s3)>
# BLOCK-DAG: [[ZERO:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (0)>
# BLOCK-DAG: [[PITCH:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4 * 2)>
# BLOCK: nv.tensor_map {base = 2 : i32, box = array<i32: 64, 16>, element = f16, extents = [[EXTENTS]], non_negative = array<i32>, offset = [[ZERO]], span = 128 : i32, strides = [[PITCH]]}
# BLOCK: nv.tma_store
@triton.jit
def by_block_pointer(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = matmul(a, b, m, n, depth, rows, columns)
    out = tl.make_block_ptr(c, (rows, columns), (columns, 1), (m, n), (M, N), (1, 0))
    tl.store(out, acc.to(tl.float16), boundary_check=(0, 1))


# DESCRIPTOR-DAG: [[EXTENTS:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4, s3)>
# DESCRIPTOR-DAG: [[ZERO:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (0)>
# DESCRIPTOR-DAG: [[PITCH:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4 * 2)>
# DESCRIPTOR: nv.tensor_map {base = 2 : i32, box = array<i32: 64, 16>, element = f16, extents = [[EXTENTS]], non_negative = array<i32>, offset = [[ZERO]], span = 128 : i32, strides = [[PITCH]]}
# DESCRIPTOR: nv.tma_store
@triton.jit
def by_descriptor(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = matmul(a, b, m, n, depth, rows, columns)
    out = tl.make_tensor_descriptor(c, [rows, columns], [columns, 1], [M, N])
    out.store([m, n], acc.to(tl.float16))


# Columns of memory are rows of the tile: a warp's 16 rows are 32 bytes.
# COLUMNS: [[EXTENTS:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s3, s4)>
# COLUMNS: nv.tensor_map {base = 2 : i32, box = array<i32: 16, 128>, element = f16, extents = [[EXTENTS]], {{.*}}span = 32 : i32
# COLUMNS: nv.tma_store {{.*}} {fast = 0 : i32, pieces = 2 : i32}
@triton.jit
def by_columns(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = matmul(a, b, m, n, depth, rows, columns)
    at_m, at_n = m + tl.arange(0, M), n + tl.arange(0, N)
    inside = (at_m < rows)[:, None] & (at_n < columns)[None, :]
    tl.store(c + at_m[:, None] + at_n[None, :] * rows, acc.to(tl.float16), mask=inside)


# Without a mask nothing is clipped; rows end on 16 bytes.
# FULL: [[EXTENTS:#map[0-9]*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2147483632, 2147483647)>
# FULL: nv.tensor_map {base = 2 : i32, {{.*}}extents = [[EXTENTS]]
# FULL: nv.tma_store
@triton.jit
def in_full(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = matmul(a, b, m, n, depth, rows, columns)
    at_m, at_n = m + tl.arange(0, M), n + tl.arange(0, N)
    tl.store(c + at_m[:, None] * columns + at_n[None, :], acc.to(tl.float16))


# FLOATS: nv.tensor_map {base = 2 : i32, box = array<i32: 32, 16>, element = f32
# FLOATS: nv.tma_store
@triton.jit
def in_floats(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = matmul(a, b, m, n, depth, rows, columns)
    at_m, at_n = m + tl.arange(0, M), n + tl.arange(0, N)
    inside = (at_m < rows)[:, None] & (at_n < columns)[None, :]
    tl.store(c + at_m[:, None] * columns + at_n[None, :], acc, mask=inside)
