# Neighbouring blocks are a pair: each load asks whether the other block is at the same tile, and slots are released at both.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16" --no-cache --enable-pass nv-pair-blocks --target sm_90a --disable-pass nv-order-programs
# RUN: %{run} --kernel by_rows --emit pipeline | FileCheck %s
# RUN: %{run} --kernel by_rows --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: %{run} --kernel by_rows --emit cubin -o %t.cubin
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16" --no-cache --target sm_90a --kernel by_rows --emit pipeline | FileCheck %s --check-prefix=ALONE
# RUN: %{run} --kernel by_rows --disable-pass nv-make-persistent --remarks --emit pipeline 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16" --no-cache --enable-pass nv-pair-blocks --target sm_80 --kernel by_rows --emit pipeline | FileCheck %s --check-prefix=ALONE
import pantile as triton
import pantile.language as tl

M: tl.constexpr = 64
N: tl.constexpr = 128
K: tl.constexpr = 64

# A slot is free when the four warps of both blocks have released it. The left tile is one panel, of which a block copies half the
# rows; the right one has two panels.
# CHECK: module attributes {{.*}}nv.pairs
# CHECK: nv.mbarrier_init %{{.*}}, 8 :
# CHECK-DAG: nv.tensor_map {base = 0 : i32, box = array<i32: 64, 32>
# CHECK-DAG: nv.tensor_map {base = 1 : i32, box = array<i32: 64, 64>
# CHECK: nv.producer {
# CHECK-DAG: %[[COUNT:.*]] = nv.program_count
# CHECK-DAG: %[[MORE:.*]] = arith.addi %[[COUNT]], %c1_i32
# CHECK-DAG: %[[EVEN:.*]] = arith.andi %[[MORE]], %c-2_i32
# CHECK-DAG: %[[LAST:.*]] = arith.subi %[[COUNT]], %c1_i32
# CHECK: scf.for %[[PLACE:[a-z0-9]+]] = %{{.*}} to %[[EVEN]]
# CHECK-DAG: %[[OWN:.*]] = arith.minsi %[[PLACE]], %[[LAST]]
# CHECK-DAG: %[[NEXT:.*]] = arith.xori %[[PLACE]], %c1_i32
# CHECK-DAG: %[[OTHER:.*]] = arith.minsi %[[NEXT]], %[[LAST]]
# CHECK-DAG: nv.program_at %[[OWN]], 0
# CHECK-DAG: nv.program_at %[[OTHER]], 0
# CHECK-DAG: %[[SAMEROWS:.*]] = arith.cmpi eq
# CHECK-DAG: %[[SAMECOLUMNS:.*]] = arith.cmpi eq
# CHECK: scf.for
# CHECK-NOT: arith.cmpi eq
# CHECK: nv.tma_load {{.*}} to both if %{{.*}} :
# CHECK: nv.tma_load {{.*}} to both if %{{.*}} :
# Of an odd number of programs the last one is stored once.
# CHECK: nv.release
# CHECK: scf.if %{{.*}} {
# CHECK-NEXT: nv.tma_store {{.*$}}
# CHECK-NEXT: }
# CHECK: nv.meet_pair
# CHECK-NEXT: return

# PTX: .reqnctapercluster 2, 1, 1
# PTX: fence.mbarrier_init.release.cluster
# PTX: barrier.cluster.arrive.relaxed.aligned
# PTX: barrier.cluster.wait.aligned
# PTX: .multicast::cluster
# PTX: mbarrier.arrive.shared::cluster.b64
# PTX: barrier.cluster.arrive.aligned
# PTX: barrier.cluster.wait.aligned
# PTX: ret;

# ALONE-NOT: nv.pairs
# ALONE-NOT: to both
# ALONE-NOT: nv.meet_pair
# ONE: remark: blocks do not load for each other: its blocks do not run one program after the other


@triton.jit
def by_rows(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    within = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(a + (m + tl.arange(0, M))[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * columns + (n + tl.arange(0, N))[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + (m + tl.arange(0, M))[:, None] * columns + (n + tl.arange(0, N))[None, :], acc)
