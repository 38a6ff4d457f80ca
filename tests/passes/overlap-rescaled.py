# Attention's first MMA runs one tile before its second one, while the softmax is computed; the left operand stays in
# registers. Eight warps get registers of the producer where they need them.
# DEFINE: %{attention} = pantilec %s --kernel attention --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --num-warps 8 --num-stages 2 --target sm_90a --no-cache --disable-pass occupancy-first
# DEFINE: %{has} = FileCheck %s --input-file %t --check-prefix
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=128 --emit pipeline -o %t
# RUN: %{has} FIRST && %{has} TOGETHER && %{has} SOFTMAX && %{has} KEYS && %{has} VALUES && %{has} LAST
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=128 --emit pipeline --disable-pass nv-overlap-dots -o - | FileCheck %s --check-prefix=APART
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=128 --emit pipeline --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=128 --emit mma -o - | FileCheck %s --check-prefix=SHARE
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=128 --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: %{attention} -D HEAD=64 -D BLOCK_N=64 --emit mma -o - | FileCheck %s --check-prefix=FEW
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=192 --remarks --emit mma -o /dev/null 2>&1 | FileCheck %s --check-prefix=FULL
# RUN: %{attention} -D HEAD=128 -D BLOCK_N=176 --emit pipeline --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --kernel scored --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16" --target sm_90a --no-cache --disable-pass occupancy-first --emit pipeline -o - | FileCheck %s --check-prefix=READS
# SAID: remark: the last MMAs of an iteration are in flight together with the first of the next
# FULL: remark: MMAs of two iterations are not in flight together: accumulators and left operands take too many registers
import pantile
import pantile.language as tl

# Before the loop, the first MMA of the first tile is alone.
# FIRST: nv.producer
# FIRST: scf.if
# FIRST: %[[SCORES:.*]] = nv.wgmma %{{.*}} : !nv.buffer
# FIRST: nv.wgmma_wait 0, %[[SCORES]]
# FIRST-NOT: nv.wgmma %
# FIRST: scf.for

# In the loop the first MMA of a tile and the second one of the tile before are in flight together.
# TOGETHER: scf.if
# TOGETHER: scf.for
# TOGETHER: %[[SCORES:.*]] = nv.wgmma %{{.*}} : !nv.buffer
# TOGETHER-NOT: nv.wgmma_wait
# TOGETHER: nv.mbarrier_wait
# TOGETHER: nv.wgmma %{{.*}} : tensor<128x128xf16
# TOGETHER: nv.wgmma_wait 1, %[[SCORES]]

# The softmax is computed before the wait for the second one.
# SOFTMAX: %[[SECOND:.*]] = nv.wgmma %{{.*}} : tensor<128x128xf16
# SOFTMAX: nv.wgmma_wait 1
# SOFTMAX: math.exp2
# SOFTMAX: nv.settle %{{.*}} : tensor<128x4xf32
# SOFTMAX-NOT: nv.settle
# SOFTMAX: nv.wgmma_wait 0, %[[SECOND]]
# SOFTMAX-NOT: scf.yield
# SOFTMAX: arith.truncf
# SOFTMAX: scf.yield

# The stage of the keys is released before the softmax.
# KEYS: nv.wgmma_wait 1
# KEYS-NOT: math.exp2
# KEYS: nv.release

# That of the values is released once the second MMA is complete.
# VALUES: nv.settle
# VALUES-NOT: nv.release
# VALUES: nv.wgmma_wait 0
# VALUES-NEXT: nv.release

# The second MMA of the last tile follows the loop.
# LAST: nv.settle
# LAST: scf.yield
# LAST: %[[SECOND:.*]] = nv.wgmma %{{.*}} : tensor<128x128xf16
# LAST: nv.wgmma_wait 0, %[[SECOND]]
# LAST: } else {
# APART-NOT: nv.wgmma_wait 1
# APART-NOT: nv.settle

# SHARE: producer_warps = 4
# SHARE-SAME: registers = [168, 24, 240]
# PTX: .reqntid 384
# PTX: .maxnreg 168
# PTX: setmaxnreg.dec.sync.aligned.u32 24
# PTX: setmaxnreg.inc.sync.aligned.u32 240
# PTX: @p st.volatile.shared
# FEW: producer_warps = 1
# FEW-NOT: registers = [


@pantile.jit
def attention(Q, K, V, Out, stride, n, HEAD: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * 128 + tl.arange(0, 128)
    columns = tl.arange(0, BLOCK_N)
    features = tl.arange(0, HEAD)
    q = tl.load(Q + rows[:, None] * stride + features[None, :])
    best = tl.full([128], float("-inf"), tl.float32)
    total = tl.zeros([128], tl.float32)
    acc = tl.zeros([128, HEAD], tl.float32)
    for start in range(0, n, BLOCK_N):
        k = tl.load(K + (start + columns)[None, :] * stride + features[:, None])
        scores = tl.dot(q, k)
        higher = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        decay = tl.exp2(best - higher)
        total = total * decay + tl.sum(p, 1)
        v = tl.load(V + (start + columns)[:, None] * stride + features[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * decay[:, None])
        best = higher
    tl.store(Out + rows[:, None] * HEAD + features[None, :], acc / total[:, None])


# The accumulator itself is read between the MMAs: nothing may be moved.
# READS-NOT: nv.wgmma_wait 1
# READS-NOT: nv.settle
# READS: return
@pantile.jit
def scored(Q, K, V, Out, n):
    rows, features = tl.arange(0, 64), tl.arange(0, 64)
    at = rows[:, None] * 64 + features[None, :]
    q = tl.load(Q + at)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        k = tl.load(K + start * 64 + rows[None, :] * 64 + features[:, None])
        p = tl.dot(q, k) + tl.max(acc, 1)[:, None]
        v = tl.load(V + start * 64 + at)
        acc = tl.dot(p.to(tl.float16), v, acc)
    tl.store(Out + at, acc)
