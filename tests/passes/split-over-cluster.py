# A row that no SM holds is spread over a cluster; small ones, other GPUs, several lengths, loops and atomics are left alone.
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=131072 --no-cache --emit layout | FileCheck %s --check-prefix=FOUR
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=131072 --num-warps 16 --no-cache --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=524288 --num-warps 32 --no-cache --emit layout | FileCheck %s --check-prefix=EIGHT
# RUN: pantilec %s --kernel norm --signature "*fp32:16, *fp32:16, *fp32:16, *fp32, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=NORM
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=65536 --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=131072 --target sm_80 --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel softmax --signature "*fp32:16, *fp32:16, i32:16" -D BLOCK=131072 --disable-pass nv-split-over-cluster --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel lengths --signature "*fp32:16, *fp32:16" --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel loop --signature "*fp32:16, *fp32:16, i32" --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel atomic --signature "*fp32:16, *fp32:16" --no-cache --emit layout | FileCheck %s --check-prefix=PLAIN
import pantile as triton
import pantile.language as tl


# Indices begin at the CTA's own; both reductions are exchanged; no CTA exits before the last exchange is read.
# FOUR: ctas_per_program = 4
# FOUR: %[[RANK:.*]] = nv.cluster_rank
# FOUR: tile.arange 0, 32768
# FOUR: %[[START:.*]] = arith.muli %[[RANK]], %c32768
# FOUR: tile.splat %[[START]]
# FOUR: tile.load
# FOUR: %[[OWN:.*]] = tile.reduce
# FOUR: %[[ALL:.*]] = nv.cluster_gather %[[OWN]]
# FOUR: tile.reduce(%[[ALL]])
# FOUR: nv.cluster_gather
# FOUR: tile.reduce
# FOUR: nv.cluster_arrive
# FOUR: tile.store
# FOUR: nv.cluster_wait
# FOUR-NEXT: return
# PTX: .reqnctapercluster 4, 1, 1
# PTX-COUNT-2: ld.shared::cluster.b32
# EIGHT: ctas_per_program = 8
# EIGHT: tile.arange 0, 65536
# PLAIN-NOT: ctas_per_program
# PLAIN-NOT: nv.cluster_gather
@triton.jit
def softmax(y, x, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


# Loads after the last exchange may see no store of the other CTA: they synchronise. The first CTA stores the scalar.
# NORM: %[[FIRST:.*]] = arith.cmpi eq
# NORM: tile.store {{.*}} mask %[[FIRST]] : i1
# NORM-NOT: nv.cluster_arrive
# NORM: nv.cluster_gather
# NORM: tile.load
# NORM: nv.cluster_arrive
# NORM-NEXT: nv.cluster_wait
# NORM: tile.store
# NORM-NOT: nv.cluster_wait
@triton.jit
def norm(y, x, w, mean, n):
    cols = tl.arange(0, 131072)
    v = tl.load(x + tl.program_id(0) * n + cols)
    m = tl.sum(v, axis=0)
    tl.store(mean + tl.program_id(0), m)
    scale = tl.rsqrt(tl.sum(v * v, axis=0))
    tl.store(y + tl.program_id(0) * n + cols, (v - m) * scale * tl.load(w + cols))


@triton.jit
def lengths(y, x):
    v = tl.load(x + tl.arange(0, 131072))
    w = tl.load(x + tl.arange(0, 128))
    tl.store(y + tl.arange(0, 131072), v / tl.sum(v, axis=0) + tl.sum(w, axis=0))


@triton.jit
def loop(y, x, n):
    cols = tl.arange(0, 131072)
    for row in range(n):
        v = tl.load(x + row * 131072 + cols)
        tl.store(y + row * 131072 + cols, v / tl.sum(v, axis=0))


@triton.jit
def atomic(y, x):
    v = tl.load(x + tl.arange(0, 131072))
    tl.atomic_add(y, tl.sum(v, axis=0))
