# Where no producer fills the circular buffers, the MMAs of the gradients of attention that only accumulate are waited for after the loop: the stages they read
# outlast the iteration, for a stage more. Not where a thread has too few registers for what they read meanwhile.
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" -D KEYS=128 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" -D KEYS=64 --num-warps 4 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" -D KEYS=128 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit cubin --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" -D KEYS=128 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-specialise-warps --disable-pass carried-accumulators --emit pipeline -o - | FileCheck %s --check-prefix=OWN
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" -D KEYS=256 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o - | FileCheck %s --check-prefix=OWN
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" -D KEYS=128 --num-warps 8 --target sm_90a --no-cache --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=PRODUCER
import pantile
import pantile.language as tl

# CHECK: %[[LOOP:.*]]:{{[0-9]+}} = scf.for
# CHECK: nv.select_stage %{{.*}} : <4 x
# CHECK: %[[S:.*]] = nv.wgmma %{{.*}} : !nv.buffer
# CHECK: nv.wgmma_wait 0, %[[S]]
# CHECK: %[[T:.*]] = nv.wgmma %{{.*}} : !nv.buffer
# CHECK: %[[DV:.*]] = nv.wgmma %{{.*}} : tensor
# CHECK: nv.wgmma_wait {{[01]}}, %[[T]]
# CHECK: %[[DK:.*]] = nv.wgmma %{{.*}} : tensor
# CHECK-NOT: nv.wgmma_wait
# CHECK: scf.yield
# CHECK: nv.wgmma_wait 0, %[[LOOP]]#{{.*}}, %[[LOOP]]#
# OWN: scf.yield
# OWN-NOT: nv.wgmma_wait
# PRODUCER: nv.producer {
# PRODUCER-NOT: scf.yield {{.*}}nv.wgmma_wait 0
# SAID: remark: the last MMAs of an iteration overlap the first of the next iteration
# SAID-NOT: serialized


@pantile.jit
def gradients(K, V, Q, G, Out, n, KEYS: tl.constexpr):
    keys, queries, features = tl.arange(0, KEYS), tl.arange(0, 64), tl.arange(0, 64)
    own = (tl.program_id(0) * KEYS + keys)[:, None] * 64 + features[None, :]
    k, v = tl.load(K + own), tl.load(V + own)
    dk = tl.zeros([KEYS, 64], tl.float32)
    dv = tl.zeros([KEYS, 64], tl.float32)
    for start in range(0, n, 64):
        at = (start + queries)[:, None] * 64 + features[None, :]
        q, g = tl.load(Q + at), tl.load(G + at)
        p = tl.exp2(tl.dot(k, tl.trans(q)))
        dv = tl.dot(p.to(tl.float16), g, dv)
        ds = p * tl.dot(v, tl.trans(g))
        dk = tl.dot(ds.to(tl.float16), q, dk)
    tl.store(Out + own, dk)
    tl.store(Out + 1048576 + own, dv)
