# Zeros of rows that are masked in all iterations are stored into each stage once; a mask that changes stores its own. One fence
# before an MMA covers what the loop stores and the copies.
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*i8:16,*fp16:16,i32,i32:16,i32:16" --num-warps 8 --no-cache --disable-pass nv-specialise-warps --disable-pass computed-left --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*i8:16,*fp16:16,i32,i32:16,i32:16" --num-warps 8 --no-cache --disable-pass nv-specialise-warps --disable-pass computed-left --disable-pass tile-hoist-invariants --emit pipeline -o - | FileCheck %s --check-prefix=INSIDE
import pantile
import pantile.language as tl


# The prologue fills two stages of three, as it copies to them.
# CHECK-COUNT-4: nv.copy_async
# CHECK: nv.copy_async {{.*}}{nv.only_zeros{{.*}}<f16>
# CHECK-NOT: nv.only_zeros
# CHECK: scf.for
# CHECK-NEXT: nv.wait 1
# CHECK-NEXT: nv.barrier
# CHECK: nv.local_store
# CHECK: nv.fence_async
# CHECK-NEXT: nv.wgmma
# CHECK: nv.copy_async {{.*}} {vectorBytes = 16 : i32} {{.*}}<i8>
# CHECK: nv.copy_async {{.*}} {nv.keeps_zeros, {{.*}}<f16>
# INSIDE-NOT: zeros
@pantile.jit
def matmul(A, B, C, M, N, K):
    m, n, k = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((128, 128), tl.float32)
    rows = (m < M)[:, None]
    for at in range(0, K, 64):
        x = tl.load(A + m[:, None] * K + (at + k)[None, :], mask=rows, other=0.0)
        w = tl.load(B + n[None, :] * K + (at + k)[:, None], mask=(at + k)[:, None] < K, other=0)
        acc = tl.dot(x, w.to(tl.float16), acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=rows)
