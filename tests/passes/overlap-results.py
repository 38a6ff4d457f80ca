# GEMM with a scale per block of K: the MMA of the next block is in flight while the result of this one is scaled and added. The loop is unrolled
# by two, with an epilogue for each parity of its iterations. Not without a producer, with two stages, or where a second
# result takes too many registers.
# DEFINE: %{gemm} = pantilec %s --kernel scaled --signature "*fp8e4nv:16,*fp8e4nv:16,*fp32:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --remarks -D BM=128
# RUN: %{gemm} --num-warps 8 -D BN=128 -D KEEPS=0 --emit pipeline -o - 2>/dev/null | FileCheck %s
# RUN: %{gemm} --num-warps 8 -D BN=128 -D KEEPS=0 --emit ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=APPLIED
# RUN: %{gemm} --num-warps 8 -D BN=128 -D KEEPS=0 --disable-pass nv-overlap-results --emit pipeline -o - 2>&1 | FileCheck %s --check-prefix=PLAIN
# RUN: %{gemm} --num-warps 8 -D BN=128 -D KEEPS=0 --disable-pass nv-specialise-warps --emit pipeline -o - 2>&1 | FileCheck %s --check-prefixes=PLAIN,PRODUCER
# RUN: %{gemm} --num-warps 8 -D BN=128 -D KEEPS=0 --num-stages 2 --emit pipeline -o - 2>&1 | FileCheck %s --check-prefixes=PLAIN,STAGES
# RUN: %{gemm} --num-warps 4 -D BN=128 -D KEEPS=0 --emit pipeline -o - 2>&1 | FileCheck %s --check-prefixes=PLAIN,REGISTERS
# A result that the loop carries needs registers of its own.
# RUN: %{gemm} --num-warps 8 -D KEEPS=1 -D BN=96 --emit pipeline -o - 2>&1 | FileCheck %s --check-prefixes=PLAIN,REGISTERS
import pantile
import pantile.language as tl

# CHECK: nv.producer
# CHECK: %[[FIRST:.*]] = nv.wgmma
# CHECK: scf.for {{.*}} = %[[FIRST]]
# CHECK: %[[SECOND:.*]] = nv.wgmma
# CHECK-NOT: arith.mulf
# CHECK: nv.wgmma_wait 1, %arg
# CHECK-NEXT: nv.release
# CHECK: arith.addf
# CHECK: %[[THIRD:.*]] = nv.wgmma
# CHECK-NOT: arith.mulf
# CHECK: nv.wgmma_wait 1, %[[SECOND]]
# CHECK-NEXT: nv.release
# CHECK: arith.addf
# CHECK: scf.yield {{.*}}%[[THIRD]],
# CHECK: scf.if
# CHECK: nv.wgmma %
# CHECK: nv.wgmma_wait 1
# CHECK: nv.wgmma_wait 0
# CHECK: } else {
# CHECK-NOT: nv.wgmma %
# CHECK: nv.wgmma_wait 0

# APPLIED: remark: the MMAs of the next iteration are in flight while the results of this one are read

# PRODUCER: remark: the MMAs of the next iteration wait until the results of this one are read: no producer fills its buffers
# STAGES: remark: the MMAs of the next iteration wait until the results of this one are read: the buffers have too few stages
# REGISTERS: remark: the MMAs of the next iteration wait until the results of this one are read: a second result takes too many registers
# PLAIN-NOT: nv.wgmma_wait 1


@pantile.jit
def scaled(a_ptr, b_ptr, scales_ptr, out_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, KEEPS: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, 128)
    acc = tl.zeros((BM, BN), tl.float32)
    before = tl.full((BM, BN), 1.0, tl.float32) if KEEPS else 0
    for block in range(0, K // 128):
        a = tl.load(a_ptr + m[:, None] * K + (block * 128 + k)[None, :])
        b = tl.load(b_ptr + n[None, :] * K + (block * 128 + k)[:, None])
        now = tl.dot(a, b) * tl.load(scales_ptr + block)
        acc += now * before if KEEPS else now
        before = now if KEEPS else before
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)
