# The accumulating MMAs of an iteration are in flight with the first MMAs of the next: the loop starts at the second iteration,
# carries the left operands, and the last MMAs follow it. A circular buffer of two stages
# gets a third. Not where an accumulator is read, nor where the tiles are too large, nor without a producer.
# DEFINE: %{gradient} = pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline
# DEFINE: %{has} = FileCheck %s --input-file %t --check-prefix
# DEFINE: %{overlaps} = %{has} STAGES && %{has} FIRST && %{has} FULL && %{has} ISSUED && %{has} SETTLED && %{has} RELEASED && %{has} ROUNDED && %{has} LAST
# RUN: %{gradient} -D D=64 -D LOOKS=0 --disable-pass occupancy-first -o %t && %{overlaps}
# RUN: %{gradient} -D D=64 -D LOOKS=0 --disable-pass occupancy-first --num-stages 2 -o %t && %{overlaps}
# RUN: %{gradient} -D D=64 -D LOOKS=0 --disable-pass occupancy-first --disable-pass nv-overlap-iterations -o - | FileCheck %s --check-prefix=PLAIN
# RUN: %{gradient} -D D=64 -D LOOKS=1 --disable-pass occupancy-first -o - | FileCheck %s --check-prefix=PLAIN
# RUN: %{gradient} -D D=64 -D LOOKS=0 --disable-pass nv-specialise-warps --disable-pass carried-accumulators -o - | FileCheck %s --check-prefix=PLAIN
# RUN: %{gradient} -D D=128 -D LOOKS=0 --disable-pass occupancy-first -o - | FileCheck %s --check-prefix=PLAIN
# Nor where one MMA of the iteration depends on another: it would start after the last ones of the iteration before.
# RUN: pantilec %s --kernel dependent --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=DEPENDENT
import pantile
import pantile.language as tl


# Two stages would not do: the stage of the iteration before is still read.
# STAGES: nv.channel via tma : <3 x[64, 64] x f16

# Before the loop, the first MMAs of the first iteration are complete.
# FIRST: nv.producer
# FIRST: scf.if
# FIRST-COUNT-2: nv.wgmma %
# FIRST-NOT: nv.wgmma %
# FIRST: nv.wgmma_wait 1
# FIRST: nv.wgmma_wait 0
# FIRST: scf.for

# In the loop each first MMA waits for its tile.
# FULL: scf.if
# FULL: scf.for
# FULL-NOT: nv.wgmma %
# FULL: nv.mbarrier_wait
# FULL: nv.wgmma %
# FULL-NOT: nv.wgmma %
# FULL: nv.mbarrier_wait
# FULL: nv.wgmma %

# All MMAs are issued before the first wait, those of the iteration before last, with carried left operands.
# ISSUED: scf.if
# ISSUED: scf.for
# ISSUED-COUNT-2: nv.wgmma {{.*}} : !nv.buffer
# ISSUED-COUNT-2: nv.wgmma %arg{{[0-9]+}}, {{.*}} : tensor<64x64xf16
# ISSUED: nv.wgmma_wait 3

# The left operands of the next iteration are computed before the wait for MMAs of the iteration before.
# SETTLED: nv.wgmma_wait 3
# SETTLED: math.exp2
# SETTLED: nv.wgmma_wait 2
# SETTLED: nv.settle
# SETTLED: nv.wgmma_wait 1, {{.*}} holding %arg
# SETTLED: nv.wgmma_wait 0, {{.*}} holding %arg

# Stages are released after the last MMA that reads them.
# RELEASED: nv.wgmma_wait 3
# RELEASED-NOT: nv.release
# RELEASED: nv.wgmma_wait 0
# RELEASED-NEXT: nv.release
# RELEASED-NEXT: nv.release

# So are the registers of the left operands, into which the next ones are rounded.
# ROUNDED: nv.wgmma_wait 3
# ROUNDED-NOT: arith.truncf
# ROUNDED: nv.wgmma_wait 0
# ROUNDED: arith.truncf
# ROUNDED-NEXT: arith.truncf
# ROUNDED-NEXT: scf.yield

# The last accumulating MMAs follow the loop.
# LAST: nv.settle
# LAST: scf.yield
# LAST-COUNT-2: nv.wgmma %{{.*}} : tensor<64x64xf16
# LAST: nv.wgmma_wait 1
# LAST-NEXT: nv.wgmma_wait 0
# LAST-COUNT-2: nv.release
# LAST: } else {
# PLAIN-COUNT-4: nv.wgmma %
# PLAIN-NOT: nv.wgmma %
@pantile.jit
def gradient(A, B, C, Out, stride, n, D: tl.constexpr, LOOKS: tl.constexpr):
    at, features = tl.arange(0, 64), tl.arange(0, D)
    a = tl.load(A + at[:, None] * stride + features[None, :])
    sums = tl.zeros([64, D], tl.float32)
    others = tl.zeros([64, D], tl.float32)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + features[None, :])
        c = tl.load(C + (start + at)[:, None] * stride + features[None, :])
        p = tl.exp2(tl.dot(a, tl.trans(b)))
        sums = tl.dot(p.to(tl.float16), c, sums)
        ds = p * tl.dot(a, tl.trans(c))
        others = tl.dot(ds.to(tl.float16), b, others)
        if LOOKS:
            others = others * 0.5
    tl.store(Out + at[:, None] * D + features[None, :], sums)
    tl.store(Out + 64 * D + at[:, None] * D + features[None, :], others)


# DEPENDENT: nv.producer
# DEPENDENT-COUNT-3: nv.wgmma %
# DEPENDENT-NOT: nv.wgmma %
@pantile.jit
def dependent(A, B, W, Out, stride, n):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    w = tl.load(W + at[:, None] * stride + at[None, :])
    sums = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :], mask=(start + at)[:, None] < n, other=0.0)
        p = tl.exp2(tl.dot(a, tl.trans(b)))
        u = tl.exp2(tl.dot(p.to(tl.float16), w))
        sums = tl.dot(u.to(tl.float16), b, sums)
    tl.store(Out + at[:, None] * 64 + at[None, :], sums)
