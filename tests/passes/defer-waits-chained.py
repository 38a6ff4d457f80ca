# The wait for attention's second MMA is deferred by one iteration: one stage more, or copies issued one iteration later,
# keep what it reads. Where a producer fills the stages, or the accumulator is read, it stays as it is.
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D READ=0 --target sm_90a --no-cache --emit pipeline --disable-pass nv-specialise-warps -o - | FileCheck %s
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D READ=0 --target sm_90a --no-cache --num-stages 2 --emit pipeline --disable-pass nv-specialise-warps -o - | FileCheck %s
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D READ=0 --target sm_90a --no-cache --emit pipeline --disable-pass occupancy-first -o - | FileCheck %s --check-prefix=PRODUCER
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D READ=0 --target sm_90a --no-cache --emit pipeline --disable-pass nv-specialise-warps --disable-pass carried-accumulators -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D READ=1 --target sm_90a --no-cache --emit pipeline --disable-pass nv-specialise-warps -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D READ=0 --target sm_90a --no-cache --emit cubin --disable-pass nv-specialise-warps --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
import pantile
import pantile.language as tl

# CHECK: %[[LOOP:[0-9]+]]:{{[0-9]+}} = scf.for {{.*}} iter_args(%[[SUM:[a-z0-9]+]] =
# CHECK: nv.wait 0
# CHECK: nv.barrier
# CHECK: nv.select_stage %{{.*}} : <3 x
# CHECK: %[[FIRST:.*]] = nv.wgmma %{{.*}} : !nv.buffer
# CHECK: nv.copy_async
# CHECK: nv.copy_async
# CHECK: nv.commit
# CHECK-NOT: nv.barrier
# CHECK: %[[BOTH:.*]]:2 = nv.wgmma_wait 0, %[[FIRST]], %[[SUM]]
# CHECK: arith.mulf %[[BOTH]]#1,
# CHECK: %[[SECOND:.*]] = nv.wgmma %{{.*}} : tensor
# CHECK-NOT: nv.wgmma_wait
# CHECK: scf.yield %[[SECOND]],
# CHECK: nv.wgmma_wait 0, %[[LOOP]]#0
# PRODUCER: nv.producer {
# PRODUCER-NOT: :2 = nv.wgmma_wait
# SAME-NOT: :2 = nv.wgmma_wait
# SAID: remark: the last MMAs of an iteration overlap the first of the next iteration
# SAID-NOT: serialized


@pantile.jit
def attention(Q, K, V, Out, stride, n, READ: tl.constexpr):
    rows, columns, features = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    q = tl.load(Q + rows[:, None] * stride + features[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    best = tl.full([64], float("-inf"), tl.float32)
    for start in range(0, n, 64):
        k = tl.load(K + (start + columns)[None, :] * stride + features[:, None])
        scores = tl.dot(q, k)
        now = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        v = tl.load(V + (start + columns)[:, None] * stride + features[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * tl.exp2(best - now)[:, None])
        best = now
        if READ:
            acc = tl.maximum(acc, -1.0)
    tl.store(Out + rows[:, None] * stride + features[None, :], acc)
