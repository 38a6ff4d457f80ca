# The tutorial's GEMM: pointers advance in the loop, the dot accumulates in place, the activation is inlined.
# RUN: pantilec %s --kernel matmul_kernel --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" -D BLOCK_SIZE_M=128 -D BLOCK_SIZE_N=256 -D BLOCK_SIZE_K=64 -D GROUP_SIZE_M=8 -D ACTIVATION=leaky_relu --num-warps 8 --target sm_90a --no-cache --emit tile | FileCheck %s --check-prefixes=CHECK,RELU
# RUN: pantilec %s --kernel matmul_kernel --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" -D BLOCK_SIZE_M=128 -D BLOCK_SIZE_N=256 -D BLOCK_SIZE_K=64 -D GROUP_SIZE_M=8 -D ACTIVATION= --num-warps 8 --target sm_90a --no-cache --emit tile | FileCheck %s --check-prefixes=CHECK,PLAIN
import pantile as triton
import pantile.language as tl


# CHECK: module attributes {tile.num_stages = 3 : i32, tile.num_warps = 8 : i32, tile.target = "sm_90a"}
# CHECK: func.func @matmul_kernel(%[[A:.*]]: !tile.ptr<f16> {tile.divisibility = 16 : i32}, {{.*}} attributes {tile.kernel}
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, ACTIVATION: tl.constexpr,
):
    # CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<128x256xf32>
    # CHECK: %[[PID:.*]] = tile.program_id 0
    pid = tl.program_id(axis=0)
    # CHECK: arith.addi %{{.*}}, %c127_i32
    # CHECK-NEXT: arith.divsi %{{.*}}, %c128_i32
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    # CHECK: arith.minsi %{{.*}}, %c8_i32 : i32
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (pid % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    # CHECK: %[[APTRS:.*]] = tile.addptr %{{.*}} : tensor<128x64x!tile.ptr<f16>>, tensor<128x64xi32>
    # CHECK: %[[BPTRS:.*]] = tile.addptr %{{.*}} : tensor<64x256x!tile.ptr<f16>>, tensor<64x256xi32>
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    # CHECK: %[[LOOP:.*]]:3 = scf.for %{{.*}} = %c0_i32 to %{{.*}} step %c64_i32 iter_args(%[[ACC:.*]] = %[[ZERO]], %[[AP:.*]] = %[[APTRS]], %[[BP:.*]] = %[[BPTRS]])
    for k in range(0, K, BLOCK_SIZE_K):
        # CHECK-NEXT: %[[X:.*]] = tile.load %[[AP]] : tensor<128x64x!tile.ptr<f16>> -> tensor<128x64xf16>
        # CHECK-NEXT: %[[Y:.*]] = tile.load %[[BP]] : tensor<64x256x!tile.ptr<f16>> -> tensor<64x256xf16>
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        # CHECK-NEXT: %[[SUM:.*]] = tile.dot %[[X]], %[[Y]], %[[ACC]] : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    # CHECK: scf.yield %[[SUM]],
    # PLAIN-NOT: arith.select
    # RELU: %[[POSITIVE:.*]] = arith.cmpf oge, %[[LOOP]]#0, %[[ZERO]] : tensor<128x256xf32>
    # RELU: arith.select %[[POSITIVE]], %[[LOOP]]#0,
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    # CHECK: %[[C:.*]] = arith.truncf %{{.*}} : tensor<128x256xf32> to tensor<128x256xf16>
    c = accumulator.to(tl.float16)
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    # CHECK: tile.store %{{.*}}, %[[C]] mask %{{.*}} : tensor<128x256xi1>
    tl.store(c_ptrs, c, mask=c_mask)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)
