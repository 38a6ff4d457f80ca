# The producer also loads tiles that threads read: matrices that the loop computes with, and vectors that registers do
# not suffice for. Threads load them where they use them first. They share the mbarriers of an operand that is released later.
# DEFINE: %{run} = pantilec %s --target sm_90a --no-cache --remarks --emit pipeline -o - --num-stages 2
# DEFINE: %{weights} = --kernel unpacked --signature "*fp16:16,*i8:16,*fp16:16,i32:16,i32:16"
# DEFINE: %{rows} = --kernel scaled --signature "*fp16:16,*fp16:16,*fp32:16,*fp16:16,i32:16" --num-warps 4
# RUN: %{run} %{weights} -D WAY=0 2>&1 | FileCheck %s
# RUN: %{run} %{weights} -D WAY=0 --disable-pass tma-values --disable-pass mixed-transports 2>&1 | FileCheck %s --check-prefix=WITHOUT
# RUN: %{run} %{weights} -D WAY=1 --disable-pass occupancy-first 2>&1 | FileCheck %s --check-prefix=WRITTEN
# RUN: %{run} %{weights} -D WAY=2 --disable-pass mixed-transports 2>&1 | FileCheck %s --check-prefix=OTHER
# RUN: %{run} %{weights} -D WAY=3 2>&1 | FileCheck %s --check-prefix=AFTER
# RUN: %{run} %{rows} -D VECTORS=3 -D STEP=1 2>&1 | FileCheck %s --check-prefix=ROWS
# RUN: %{run} %{rows} -D VECTORS=1 -D STEP=1 2>&1 | FileCheck %s --check-prefix=FEW
# RUN: %{run} %{rows} -D VECTORS=3 -D STEP=2 2>&1 | FileCheck %s --check-prefix=APART
# RUN: %{run} %{rows} -D VECTORS=3 -D STEP=2 --disable-pass copied-vectors 2>&1 | FileCheck %s --check-prefix=FEW
# RUN: %{run} --kernel doubled --signature "*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16" -D TIMES=60 2>&1 | FileCheck %s --check-prefix=DOUBLED
import pantile
import pantile.language as tl


# CHECK: remark: a producer warp loads for this loop
# CHECK: nv.channel via tma : <2 x[64, 64] x i8
# CHECK: nv.producer
# CHECK: nv.expect %{{.*}}, 12288
# CHECK: scf.for
# CHECK: nv.mbarrier_wait %[[BARRIER:[0-9]+]], false
# CHECK-NEXT: nv.local_load %{{.*}} -> tensor<64x64xi8
# CHECK: nv.wgmma
# CHECK: nv.wgmma_wait
# CHECK: nv.release %[[BARRIER]] {nv.read_by_threads}
# CHECK: scf.yield
# WITHOUT: warps are not specialised: tiles that the loop computes with are prefetched by all warps{{$}}
# WITHOUT: nv.copy_async
# What the loop stores through the same argument, all warps load.
# WRITTEN: nv.producer
# WRITTEN-NOT: nv.tma_load {{.*}}xi8
# WRITTEN: tile.load {{.*}}xi8
# WRITTEN: tile.store {{.*}}xi8
# OTHER: warps are not specialised: tiles that the loop computes with are prefetched by all warps: a stride is not known on the host to be a multiple of 16 bytes
# OTHER-NOT: nv.tma_load
# A tile that is used after the loop stays in registers.
# AFTER: nv.tma_load
# AFTER: tile.load {{.*}}xi8
# AFTER-NOT: nv.local_load
@pantile.jit
def unpacked(A, B, Out, stride, n, WAY: tl.constexpr):
    at = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    b = tl.zeros([64, 64], tl.int8)
    for start in range(0, n, 64):
        a = tl.load(A + at[:, None] * stride + (start + at)[None, :])
        b = tl.load(B + (start + at)[:, None] * (stride + 4 * (WAY == 2)) + at[None, :])
        acc += tl.dot(a, b.to(tl.float16))
        if WAY == 1:
            tl.store(B + start + at, tl.sum(acc, 0).to(tl.int8))
    if WAY == 3:
        acc += b
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


# Three vectors would take too many registers. They share the mbarriers of the operand whose MMA is complete before they
# are read, between the MMAs of two iterations.
# ROWS: remark: the last MMAs of an iteration are in flight together
# ROWS-COUNT-3: nv.channel via tma : <2 x[64] x f32, <[0], 0>>
# ROWS: nv.producer
# ROWS: nv.expect %{{.*}}, 8960
# ROWS: nv.expect %{{.*}}, 32768
# ROWS: nv.wgmma_wait 0
# ROWS: scf.for
# ROWS: nv.mbarrier_wait %[[ROWS:[0-9]+]], false
# ROWS: nv.wgmma_wait 1
# ROWS-COUNT-3: nv.local_load %{{.*}} -> tensor<64xf32
# ROWS: nv.release %[[ROWS]] {nv.read_by_threads}
# ROWS: nv.wgmma_wait 0
# What TMA cannot load, another warp copies per vector, as many as a warp group has; the last one stays in registers.
# APART: remark: the producer warp copies this vector by cp.async
# APART-COUNT-2: nv.channel via cp_async by 4 : <2 x[64] x f32, <[0], 0>>
# APART-COUNT-2: nv.mbarrier_init %{{.*}}, 4 {arrivals = 33 : i32}
# APART: nv.producer
# APART: nv.tma_load
# APART: nv.producer
# APART: nv.mbarrier_wait %[[COPIED:[0-9]+]], true
# APART: nv.expect %[[COPIED]], 0
# APART: nv.copy_async %{{.*}} on %[[COPIED]]
# APART: nv.producer
# APART: nv.copy_async
# APART-COUNT-2: nv.local_load %{{.*}} -> tensor<64xf32
# APART: nv.release %{{.*}} {nv.filled_by_copies, nv.read_by_threads}
# APART: scf.yield
# One stays in registers, and so do those that TMA cannot load without these warps.
# FEW: nv.tma_load
# FEW-NOT: nv.local_load
# FEW: tile.load {{.*}} -> tensor<64xf32
# FEW-NOT: nv.local_load
# FEW: scf.yield
@pantile.jit
def scaled(A, B, Rows, Out, n, VECTORS: tl.constexpr, STEP: tl.constexpr):
    at, columns = tl.arange(0, 64), tl.arange(0, 256)
    acc = tl.zeros([64, 256], tl.float32)
    a = tl.load(A + at[:, None] * 64 + at[None, :])
    for start in range(0, n, 64):
        x = tl.load(A + (start + at)[:, None] * 64 + at[None, :])
        scores = tl.dot(a, tl.trans(x))
        for i in tl.static_range(VECTORS):
            scores *= tl.load(Rows + i * n + (start + at) * STEP)[None, :]
        b = tl.load(B + (start + at)[:, None] * 256 + columns[None, :])
        acc = tl.dot(scores.to(tl.float16), b, acc)
    tl.store(Out + at[:, None] * 256 + columns[None, :], acc)


# Scalars that each use the one before twice are followed once each.
# DOUBLED: nv.tma_load
@pantile.jit
def doubled(A, Rows, Out, n, stride, TIMES: tl.constexpr):
    at = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        x = tl.load(A + at[:, None] * stride + (start + at)[None, :])
        scores = tl.dot(x, tl.trans(x))
        scale = start + stride
        for _ in tl.static_range(TIMES):
            scale = scale * scale + scale
        acc += scores * (scale + tl.load(Rows + start + at))[None, :]
    tl.store(Out + at[:, None] * 64 + at[None, :], acc.to(tl.float16))
