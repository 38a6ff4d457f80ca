# The gradients of attention in one kernel, which adds to those of the queries by atomics. Loads are prefetched past the
# atomics, which have no alias; where their old values are used, or they may write what is read, none is.
# MMAs that do not read the tile that goes through shared memory are in flight while it is stored, and only
# the MMA that reads it has a fence.
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" -D KIND=0 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --emit mma -o - | FileCheck %s
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" -D KIND=1 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=LEARNS
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" -D KIND=2 --target sm_90a --no-cache --emit mma -o - | FileCheck %s --check-prefix=LEARNS
import pantile
import pantile.language as tl


# CHECK: nv.copy_async
# CHECK: scf.for
# CHECK: nv.fence_async
# CHECK-NEXT: nv.barrier
# CHECK-NOT: nv.fence_async
# CHECK: %[[SCORES:.*]] = nv.wgmma
# CHECK-NOT: nv.fence_async
# CHECK: %[[SLOPES:.*]] = nv.wgmma
# CHECK: nv.wgmma_wait 1, %[[SCORES]]
# CHECK-NOT: nv.fence_async
# CHECK: %[[VALUES:.*]] = nv.wgmma
# CHECK: nv.wgmma_wait 1, %[[SLOPES]]
# CHECK-NOT: nv.fence_async
# CHECK: %[[KEYS:.*]] = nv.wgmma
# CHECK-NOT: nv.wgmma_wait
# CHECK: nv.local_store
# CHECK: nv.fence_async
# CHECK-NEXT: nv.barrier
# CHECK-NEXT: %[[QUERIES:.*]] = nv.wgmma
# CHECK: nv.wgmma_wait 2, %[[VALUES]]
# CHECK: nv.wgmma_wait 1, %[[KEYS]]
# CHECK: nv.wgmma_wait 0, %[[QUERIES]]
# CHECK: nv.dealloc
# CHECK: nv.tma_store adding
# CHECK: scf.yield

# LEARNS-NOT: nv.copy_async
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
