# The accumulating MMAs of an iteration are in flight with the first MMAs of the next: the loop starts at the second iteration,
# carries the left operands, and the last MMAs follow it. A circular buffer of two stages
# gets a third. Not where an accumulator is read, nor where the tiles are too large, nor without a producer.
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D D=64 -D LOOKS=0 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D D=64 -D LOOKS=0 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --emit pipeline --disable-pass nv-overlap-iterations -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D D=64 -D LOOKS=1 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --emit pipeline -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D D=64 -D LOOKS=0 --target sm_90a --no-cache --emit pipeline --disable-pass nv-specialise-warps --disable-pass carried-accumulators -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D D=64 -D LOOKS=0 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --num-stages 2 --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel gradient --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D D=128 -D LOOKS=0 --target sm_90a --no-cache --disable-pass nv-keep-occupancy --emit pipeline -o - | FileCheck %s --check-prefix=PLAIN
# Nor where one MMA of the iteration depends on another: it would start after the last ones of the iteration before.
# RUN: pantilec %s --kernel dependent --signature "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=DEPENDENT
import pantile
import pantile.language as tl


# CHECK: nv.producer
# CHECK: scf.if
# CHECK: nv.wgmma %
# CHECK: nv.wgmma %
# CHECK: nv.wgmma_wait 1
# CHECK: nv.wgmma_wait 0
# CHECK: scf.for
# CHECK: nv.mbarrier_wait
# CHECK: nv.wgmma %
# CHECK: nv.mbarrier_wait
# CHECK: nv.wgmma %
# CHECK: nv.wgmma %[[P:arg[0-9]+]], {{.*}} : tensor<64x64xf16
# CHECK: nv.wgmma %[[DS:arg[0-9]+]], {{.*}} : tensor<64x64xf16
# CHECK: nv.wgmma_wait 3
# CHECK: nv.wgmma_wait 2
# CHECK: nv.settle
# CHECK: nv.wgmma_wait 1
# CHECK: nv.wgmma_wait 0
# CHECK: nv.release
# CHECK: nv.release
# CHECK: arith.truncf
# CHECK: scf.yield
# CHECK: nv.wgmma {{.*}} : tensor<64x64xf16
# CHECK: nv.wgmma {{.*}} : tensor<64x64xf16
# CHECK: nv.wgmma_wait 1
# CHECK: nv.wgmma_wait 0
# CHECK: } else {
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
