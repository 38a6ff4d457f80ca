# The gradients of attention in one kernel, which adds to those of the queries by atomics. Loads are prefetched past the
# atomics, which have no alias; where their old values are used, or they may write what is read, none is.
# MMAs that do not read the tile that goes through shared memory are in flight while it is stored, and only
# the MMA that reads it has a fence.
# DEFINE: %{gradients} = pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --no-cache --emit mma
# DEFINE: %{has} = FileCheck %s --input-file %t --check-prefix
# RUN: %{gradients} -D KIND=0 --disable-pass nv-specialise-warps -o %t
# RUN: %{has} PREFETCHED && %{has} FENCE && %{has} WAITS && %{has} STORED && %{has} LAST
# RUN: %{gradients} -D KIND=0 --disable-pass occupancy-first -o - | FileCheck %s --check-prefix=PRODUCED
# RUN: %{gradients} -D KIND=1 -o - | FileCheck %s --check-prefix=LEARNS
# RUN: %{gradients} -D KIND=2 -o - | FileCheck %s --check-prefix=LEARNS
import pantile
import pantile.language as tl


# A producer loads past the relaxed atomics, too.
# PRODUCED: nv.producer {
# PRODUCED: nv.tma_load
# PRODUCED: nv.tma_store adding

# Loads are prefetched past the atomics.
# PREFETCHED: nv.copy_async
# PREFETCHED: scf.for
# PREFETCHED: nv.copy_async
# PREFETCHED: nv.tma_store adding
# PREFETCHED: scf.yield

# An iteration fences the copies at its start, and the tile that goes through shared memory before the MMA that reads it.
# FENCE: scf.for
# FENCE: nv.fence_async
# FENCE-NEXT: nv.barrier
# FENCE-NOT: nv.fence_async
# FENCE: nv.local_store
# FENCE-NEXT: nv.buffer_trans
# FENCE-NEXT: nv.fence_async
# FENCE-NEXT: nv.barrier
# FENCE-NEXT: nv.wgmma %
# FENCE-NOT: nv.fence_async
# FENCE: scf.yield

# Each of the first two MMAs is waited for with the MMA after it in flight.
# WAITS: scf.for
# WAITS: %[[SCORES:.*]] = nv.wgmma %
# WAITS: %[[SLOPES:.*]] = nv.wgmma %
# WAITS: nv.wgmma_wait 1, %[[SCORES]]
# WAITS: nv.wgmma %
# WAITS: nv.wgmma_wait 1, %[[SLOPES]]

# The accumulating MMAs are in flight while the tile that they do not read is stored.
# STORED: nv.wgmma_wait 1
# STORED: nv.wgmma_wait 1
# STORED: nv.wgmma %{{.*}} : tensor<64x64xf16
# STORED-NOT: nv.wgmma_wait
# STORED: nv.local_store

# All are waited for in the order of issue, before the tile's buffer is freed and the atomics.
# LAST: scf.for
# LAST: %[[VALUES:.*]] = nv.wgmma %{{.*}} : tensor<64x64xf16
# LAST: %[[KEYS:.*]] = nv.wgmma %{{.*}} : tensor<64x64xf16
# LAST: %[[QUERIES:.*]] = nv.wgmma %{{.*}} : !nv.buffer
# LAST: nv.wgmma_wait 2, %[[VALUES]]
# LAST: nv.wgmma_wait 1, %[[KEYS]]
# LAST: nv.wgmma_wait 0, %[[QUERIES]]
# LAST: nv.dealloc
# LAST: nv.tma_store adding
# LEARNS-NOT: nv.copy_async
# LEARNS-NOT: nv.producer {
@pantile.jit
def gradients(Q, K, V, G, Best, Delta, dQ, dK, dV, n, KIND: tl.constexpr):
    at, features = tl.arange(0, 64), tl.arange(0, 64)
    own = (tl.program_id(0) * 64 + at)[:, None] * 64 + features[None, :]
    k, v = tl.load(K + own), tl.load(V + own)
    dk, dv = tl.zeros([64, 64], tl.float32), tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        rows = start + at
        places = rows[:, None] * 64 + features[None, :]
        q = tl.load(Q + places)
        p = tl.exp2(tl.dot(k, tl.trans(q)) - tl.load(Best + rows)[None, :])
        g = tl.load(G + places)
        dv = tl.dot(p.to(tl.float16), g, dv)
        slope = p * (tl.dot(v, tl.trans(g)) - tl.load(Delta + rows)[None, :])
        slope = slope.to(tl.float16)
        dk = tl.dot(slope, q, dk)
        dq = tl.dot(tl.trans(slope), k)
        if KIND == 2:
            tl.atomic_add(Q + places, dq.to(tl.float16), sem="relaxed")
            tl.atomic_add(G + places, dq.to(tl.float16), sem="relaxed")
        else:
            old = tl.atomic_add(dQ + places, dq, sem="relaxed")
            if KIND == 1:
                dv += old
    tl.store(dK + own, dk)
    tl.store(dV + own, dv)
