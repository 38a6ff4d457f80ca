# Two groups of warps start the products of attention in turn: the second passes the first turn in front of the loop, and behind the loop the first takes what is left.
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --enable-pass nv-alternate-groups --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --enable-pass nv-alternate-groups --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --enable-pass nv-alternate-groups --emit cubin --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=64 -D SHARED=0 --num-warps 4 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --enable-pass nv-alternate-groups --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=128 -D SHARED=0 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-specialise-warps --enable-pass nv-alternate-groups --emit pipeline -o - | FileCheck %s --check-prefix=NONE
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D ROWS=128 -D SHARED=1 --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --enable-pass nv-alternate-groups --emit pipeline -o - | FileCheck %s --check-prefix=NONE
import pantile
import pantile.language as tl

# CHECK: nv.pass_turn first
# CHECK: scf.for
# CHECK: nv.take_turn{{$}}
# CHECK-NEXT: nv.wgmma %{{.*}} : !nv.buffer
# CHECK: nv.wgmma %{{.*}} : tensor<128x128xf16
# CHECK-NEXT: nv.pass_turn{{$}}
# CHECK: nv.wgmma_wait 1
# CHECK: scf.yield
# CHECK: nv.take_turn last
# NONE-NOT: nv.take_turn
# PTX: @%p{{[0-9]+}} barrier.cta.arrive.aligned %r{{[0-9]+}}, 256;
# PTX: barrier.cta.sync.aligned %r{{[0-9]+}}, 256;
# SAID: remark: groups of four warps start their products in turn
# SAID-NOT: serialized


# SHARED: rows meet those of the other group in each iteration.
@pantile.jit
def attention(Q, K, V, Out, stride, n, ROWS: tl.constexpr, SHARED: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns, features = tl.arange(0, 128), tl.arange(0, 128)
    q = tl.load(Q + rows[:, None] * stride + features[None, :])
    best = tl.full([ROWS], float("-inf"), tl.float32)
    acc = tl.zeros([ROWS, 128], tl.float32)
    for start in range(0, n, 128):
        k = tl.load(K + (start + columns)[None, :] * stride + features[:, None])
        scores = tl.dot(q, k)
        if SHARED:
            scores -= tl.max(scores, 0)[None, :]
        higher = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        v = tl.load(V + (start + columns)[:, None] * stride + features[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * tl.exp2(best - higher)[:, None])
        best = higher
    tl.store(Out + rows[:, None] * stride + features[None, :], acc)
