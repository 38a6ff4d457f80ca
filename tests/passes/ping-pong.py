# Two warp groups alternate in starting the MMAs of attention's gradients: the second arrives first before the loop, and after the loop the first waits for what is left.
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --target sm_90a --no-cache --emit cubin --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-ping-pong --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=64 -D SHARED=0 --num-warps 4 --target sm_90a --no-cache --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --target sm_90a --no-cache --disable-pass nv-overlap-iterations --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --signature "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16" -D ROWS=128 -D SHARED=1 --num-warps 8 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=NONE
import pantile
import pantile.language as tl

# CHECK: nv.ping_pong_arrive first
# CHECK: scf.for
# CHECK: nv.ping_pong_wait{{$}}
# CHECK-NEXT: nv.wgmma %{{.*}} : !nv.buffer
# CHECK: nv.wgmma %{{.*}} : !nv.buffer
# CHECK: nv.wgmma %{{.*}} : tensor<128x64xf16
# CHECK-NEXT: nv.ping_pong_arrive{{$}}
# CHECK: nv.wgmma_wait
# CHECK: scf.yield
# CHECK: nv.ping_pong_wait last
# NONE-NOT: nv.ping_pong_wait
# PTX: @%p{{[0-9]+}} barrier.cta.arrive.aligned %r{{[0-9]+}}, 256;
# PTX: barrier.cta.sync.aligned %r{{[0-9]+}}, 256;
# SAID: remark: consumer warp groups alternate (ping-pong): one issues MMAs while another computes
# SAID-NOT: serialized


# SHARED: rows meet those of the other group in each iteration.
@pantile.jit
def queries(Q, G, K, V, Best, Out, n, ROWS: tl.constexpr, SHARED: tl.constexpr):
    rows, columns, features = tl.arange(0, ROWS), tl.arange(0, 64), tl.arange(0, 64)
    own = (tl.program_id(0) * ROWS + rows)[:, None] * 64 + features[None, :]
    q, g = tl.load(Q + own), tl.load(G + own)
    best = tl.load(Best + rows)
    dq = tl.zeros([ROWS, 64], tl.float32)
    for start in range(0, n, 64):
        at = (start + columns)[None, :] * 64 + features[:, None]
        k, v = tl.load(K + at), tl.load(V + at)
        scores = tl.dot(q, k)
        if SHARED:
            scores -= tl.max(scores, 0)[None, :]
        ds = tl.exp2(scores - best[:, None]) * tl.dot(g, v)
        dq = tl.dot(ds.to(tl.float16), tl.trans(k), dq)
    tl.store(Out + own, dq)
