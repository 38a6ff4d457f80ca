# Copies into the stage of an MMA in flight follow its wait and a barrier: where one stage more would cost the second
# CTA, and where one less allows a third.
# RUN: pantilec %s --kernel gathered --signature "*fp16:16,*i32:16,*fp16:16,*fp32:16,i32:16" --disable-pass mixed-transports --num-warps 8 --num-stages 3 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel gathered --signature "*fp16:16,*i32:16,*fp16:16,*fp32:16,i32:16" --disable-pass mixed-transports --num-warps 8 --num-stages 2 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=ROOM
# RUN: pantilec %s --kernel decayed --signature "*bf16:16,*bf16:16,*fp32:16,*fp32:16,i32" --num-stages 3 --target sm_90a --no-cache --disable-pass tma-values --disable-pass mixed-transports --disable-pass computed-left --emit pipeline -o - | FileCheck %s --check-prefix=LESS
import pantile
import pantile.language as tl


# CHECK-DAG: nv.channel via cp_async ahead {{.*}} by 16 : <3 x[128, 64] x f16
# CHECK-DAG: nv.channel via cp_async ahead {{.*}} by 16 : <3 x[64, 128] x f16
# CHECK: scf.for
# CHECK: nv.wait 1
# CHECK: nv.wgmma %
# CHECK-NOT: nv.copy_async
# CHECK: nv.wgmma_wait 1
# CHECK: nv.barrier
# CHECK: nv.copy_async
# ROOM-DAG: nv.channel via cp_async ahead {{.*}} by 16 : <3 x[128, 64] x f16
# ROOM-DAG: nv.channel via cp_async ahead {{.*}} by 16 : <3 x[64, 128] x f16
# ROOM: scf.for
# ROOM: nv.wait 0
# ROOM: nv.wgmma %
# ROOM: nv.copy_async
# ROOM: nv.wgmma_wait 1
@pantile.jit
def gathered(A, Rows, B, Out, K):
    m, k = tl.arange(0, 128), tl.arange(0, 64)
    rows = tl.load(Rows + m)
    acc = tl.zeros((128, 128), tl.float32)
    for at in range(0, K, 64):
        a = tl.load(A + rows[:, None] * K + (at + k)[None, :])
        acc += tl.dot(a, tl.load(B + (at + k)[:, None] * 128 + m[None, :]))
    tl.store(Out + m[:, None] * 128 + m[None, :], acc)


# LESS-DAG: nv.channel via cp_async ahead {{.*}} by 16 : <2 x[64, 64] x bf16
# LESS-DAG: nv.channel via cp_async ahead {{.*}} by 16 : <2 x[64, 128] x bf16
# LESS: scf.for
# LESS: nv.wait 1
# LESS-NOT: nv.copy_async
# LESS: nv.wgmma_wait 0
# LESS-NEXT: nv.barrier
# LESS: nv.copy_async
@pantile.jit
def decayed(X, B, Decay, Out, L):
    p, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((64, 128), tl.float32)
    for at in range(0, L, 64):
        t = at + k
        x = tl.load(X + t[None, :] * 64 + p[:, None])
        b = tl.load(B + t[:, None] * 128 + n[None, :]).to(tl.float32)
        acc += tl.dot(x, (b * tl.load(Decay + t)[:, None]).to(x.dtype))
    tl.store(Out + p[:, None] * 128 + n[None, :], acc)
