# Stream-K: each CTA processes a range of K-iterations of a tile. The CTA with the last iteration reduces the partial tiles of the others, whose first load is issued before the last iterations, and only it runs the epilogue.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --no-cache --num-stages 3
# DEFINE: %{has} = FileCheck %s --input-file %t --check-prefix
# DEFINE: %{splits} = %{has} BYTES && %{has} PRODUCER && %{has} HELPER && %{has} EARLY && %{has} ADDED && %{has} REDUCED && %{has} GIVEN
# RUN: %{run} --kernel by_numbers --enable-pass nv-stream-k --emit pipeline -o %t && %{splits} && %{has} MEETS
# RUN: %{run} --kernel by_pointers --enable-pass nv-stream-k --emit pipeline -o %t && %{splits}
# RUN: %{run} --kernel by_pointers --emit pipeline -o - | FileCheck %s --check-prefix=OFF
# RUN: %{run} --kernel by_numbers --enable-pass nv-stream-k --remarks --emit mma -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: %{run} --kernel by_pointers --enable-pass nv-stream-k --emit ptx -o - | FileCheck %s --check-prefix=PTX
import pantile
import pantile.language as tl

M: tl.constexpr = 64
N: tl.constexpr = 128
K: tl.constexpr = 64

# A partial tile has 64 x 128 floats.
# BYTES: partial_bytes = 32768

# The producer loads the iterations of its work range, in two loops: the second has the last ones.
# PRODUCER: nv.producer
# PRODUCER: nv.work_range
# PRODUCER: scf.for {{.*}} step {{.*}} iter_args(%{{[^ ]+}} = %arg
# PRODUCER: nv.tma_load
# PRODUCER: scf.for %{{[^ ]+}} = %
# PRODUCER: nv.tma_load
# PRODUCER-NOT: nv.store_partial
# PRODUCER: nv.work_range

# The second begins where the first ends.
# MEETS: nv.work_range
# MEETS: scf.for {{.*}} to %[[MIDDLE:[^ ]+]] step {{.*}} iter_args(%{{[^ ]+}} = %arg
# MEETS: scf.for %{{[^ ]+}} = %[[MIDDLE]] to

# The helper warp works next to the producer, once per CTA: before the loops.
# HELPER: nv.producer
# HELPER-NOT: scf.for
# HELPER: nv.helper_warp
# HELPER-NOT: nv.helper_warp

# The first partial tile is loaded between the first iterations and the last ones.
# EARLY: nv.helper_warp
# EARLY: nv.wgmma %
# EARLY: nv.await_partials %[[GETS:[^ ]+]]
# EARLY: nv.load_partial %{{[^ ]+}} if %[[GETS]]
# EARLY: scf.for
# EARLY: nv.wgmma %

# It is added to the CTA's own accumulator after the last iterations.
# ADDED: %[[PART:[^ ]+]] = nv.load_partial %{{[^ ]+}} if %[[GETS:[^ ]+]] :
# ADDED: %[[WAITED:[^ ]+]] = nv.wgmma_wait 0
# ADDED: scf.if %[[GETS]]
# ADDED-NEXT: arith.addf %[[WAITED]], %[[PART]]

# The CTA with the last iteration reduces the other partial tiles, then runs the epilogue.
# REDUCED: %[[OWN:[^ ]+]] = scf.if
# REDUCED: scf.if
# REDUCED-NEXT: %[[SUM:[^ ]+]] = scf.for %[[FROM:[^ ]+]] = {{.*}} iter_args(%[[SOFAR:[^ ]+]] = %[[OWN]])
# REDUCED: %[[OTHER:[^ ]+]] = nv.load_partial %[[FROM]]
# REDUCED: arith.addf %[[SOFAR]], %[[OTHER]]
# REDUCED: arith.truncf %[[SUM]]

# Any other CTA stores its partial tile, and runs no epilogue.
# GIVEN: %[[OWN:[^ ]+]] = scf.if
# GIVEN: scf.if
# GIVEN: arith.truncf
# GIVEN: else
# GIVEN-NEXT: nv.store_partial %[[OWN]]
# GIVEN-NOT: arith.truncf
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
