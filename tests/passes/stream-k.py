# Stream-K: each CTA processes a range of K-iterations of a tile. The CTA with the last iteration reduces the partial tiles of the others, whose first load is issued before the last iterations, and only it runs the epilogue.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --no-cache --num-stages 3
# RUN: %{run} --kernel by_numbers --enable-pass nv-stream-k --emit pipeline -o - | FileCheck %s
# RUN: %{run} --kernel by_pointers --enable-pass nv-stream-k --emit pipeline -o - | FileCheck %s
# RUN: %{run} --kernel by_pointers --emit pipeline -o - | FileCheck %s --check-prefix=OFF
# RUN: %{run} --kernel by_numbers --enable-pass nv-stream-k --remarks --emit mma -o %t 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: %{run} --kernel by_pointers --enable-pass nv-stream-k --emit ptx -o - | FileCheck %s --check-prefix=PTX
import pantile
import pantile.language as tl

M: tl.constexpr = 64
N: tl.constexpr = 128
K: tl.constexpr = 64

# CHECK: partial_bytes = 32768
# The producer loads the same iterations.
# CHECK: nv.producer
# CHECK: nv.work_range
# CHECK: nv.helper_warp
# CHECK: scf.for {{.*}} to %[[ROUNDS:[^ ]+]] step
# CHECK: scf.for %[[K:[^ ]+]] = %[[FIRST:[^ ]+]] to %[[MIDDLE:[^ ]+]] step
# CHECK: nv.tma_load
# CHECK: scf.for %{{[^ ]+}} = %[[MIDDLE]] to %[[LAST:[^ ]+]] step
# CHECK: nv.tma_load
# CHECK-NOT: nv.store_partial
# CHECK: nv.work_range
# CHECK-NOT: nv.helper_warp
# CHECK: scf.for
# CHECK: nv.wgmma
# CHECK: nv.await_partials %[[GETS:[^ ]+]]
# CHECK: %[[PART:[^ ]+]] = nv.load_partial %{{[^ ]+}} if %[[GETS]]
# CHECK: scf.for
# CHECK: nv.wgmma
# CHECK: %[[WAITED:[^ ]+]] = nv.wgmma_wait 0
# CHECK: %[[OWN:[^ ]+]] = scf.if %[[GETS]]
# CHECK: arith.addf %[[WAITED]], %[[PART]]
# CHECK: scf.if
# CHECK: %[[SUM:[^ ]+]] = scf.for %[[FROM:[^ ]+]] = {{.*}} iter_args(%[[SOFAR:[^ ]+]] = %[[OWN]])
# CHECK: %[[OTHER:[^ ]+]] = nv.load_partial %[[FROM]]
# CHECK: arith.addf %[[SOFAR]], %[[OTHER]]
# CHECK: arith.truncf %[[SUM]]
# CHECK: else
# CHECK: nv.store_partial %[[OWN]]
# OFF-NOT: nv.work_range
# OFF-NOT: nv.store_partial
# SAID: remark: output tiles of the last waves may be split over CTAs
# SAID: remark: load is converted to TMA with a tensor map of 2 dimensions
# SAID: remark: load is converted to TMA with a tensor map of 2 dimensions
# PTX-DAG: ld.acquire.gpu.global.u32
# PTX-DAG: ld.global.v4
# PTX-DAG: st.global.v4
# PTX-DAG: st.release.gpu.global.u32


@pantile.jit
def by_numbers(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    within = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(a + m[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * columns + n[None, :])
        acc = tl.dot(x, y, acc)
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(c + m[:, None] * columns + n[None, :], acc.to(tl.float16), mask=inside)


# Pointers that a loop advances begin where its work range does.
@pantile.jit
def by_pointers(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    within = tl.arange(0, K)
    x_ptrs = a + m[:, None] * depth + within[None, :]
    y_ptrs = b + within[:, None] * columns + n[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        x = tl.load(x_ptrs, mask=within[None, :] < depth - k * K, other=0.0)
        y = tl.load(y_ptrs, mask=within[:, None] < depth - k * K, other=0.0)
        acc = tl.dot(x, y, acc)
        x_ptrs += K
        y_ptrs += K * columns
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(c + m[:, None] * columns + n[None, :], acc.to(tl.float16), mask=inside)
