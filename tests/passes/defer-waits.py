# The gradients of attention: MMAs start when their operands are there, and are waited for where their accumulators are
# used; vectors are loaded before them.
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --no-cache --disable-pass nv-specialise-warps --disable-pass nv-prefetch-loads --disable-pass carried-accumulators --emit mma -o - | FileCheck %s
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --no-cache --disable-pass nv-specialise-warps --disable-pass nv-defer-waits --emit mma -o - | FileCheck %s --check-prefix=APART
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --no-cache --disable-pass occupancy-first --disable-pass nv-overlap-iterations --disable-pass nv-carry-mmas --emit mma -o - | FileCheck %s --check-prefix=ROLES
import pantile
import pantile.language as tl


# CHECK: scf.for
# CHECK: tile.load
# CHECK: tile.load
# CHECK: %[[SCORES:.*]] = nv.wgmma
# CHECK-NOT: tile.load
# CHECK: %[[SLOPES:.*]] = nv.wgmma
# CHECK: nv.wgmma_wait 1, %[[SCORES]]
# CHECK: math.exp2
# CHECK: %[[VALUES:.*]] = nv.wgmma
# CHECK: nv.wgmma_wait 1, %[[SLOPES]]
# CHECK: %[[KEYS:.*]] = nv.wgmma
# CHECK: nv.wgmma_wait 1, %[[VALUES]]
# CHECK: nv.wgmma_wait 0, %[[KEYS]]
# CHECK: scf.yield

# APART-NOT: nv.wgmma_wait 1

# No stage is released while an MMA may read it.
# ROLES: nv.producer
# ROLES: nv.tma_load
# ROLES: %[[SCORES:.*]] = nv.wgmma
# ROLES: %[[SLOPES:.*]] = nv.wgmma
# ROLES: nv.wgmma_wait 1, %[[SCORES]]
# ROLES: %[[VALUES:.*]] = nv.wgmma
# ROLES: nv.wgmma_wait 1, %[[SLOPES]]
# ROLES-NOT: nv.release
# ROLES: %[[KEYS:.*]] = nv.wgmma
# ROLES: nv.wgmma_wait 1, %[[VALUES]]
# ROLES: nv.wgmma_wait 0, %[[KEYS]]
# ROLES: nv.release
# ROLES: scf.yield
@pantile.jit
def gradients(Q, K, V, G, Best, Delta, dK, dV, n):
    at, features = tl.arange(0, 64), tl.arange(0, 64)
    own = (tl.program_id(0) * 64 + at)[:, None] * 64 + features[None, :]
    k, v = tl.load(K + own), tl.load(V + own)
    dk, dv = tl.zeros([64, 64], tl.float32), tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        rows = start + at
        q = tl.load(Q + rows[None, :] * 64 + features[:, None])
        p = tl.exp2(tl.dot(k, q) - tl.load(Best + rows)[None, :])
        g = tl.load(G + rows[:, None] * 64 + features[None, :])
        dv += tl.dot(p.to(tl.float16), g)
        slope = p * (tl.dot(v, tl.trans(g)) - tl.load(Delta + rows)[None, :])
        dk += tl.dot(slope.to(tl.float16), tl.trans(q))
    tl.store(dK + own, dk)
    tl.store(dV + own, dv)
