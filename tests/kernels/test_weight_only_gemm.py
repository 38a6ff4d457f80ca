"""GEMMs of halves with packed weights: int4 in two packings, int8, fp8; group scales and zeros.

GPTQ packs eight 4-bit weights of one column along K into an int32; AWQ packs eight neighbouring
columns in the order 0 2 4 6 1 3 5 7. Another form keeps two weights a byte and joins low and high
nibbles. Weights are dequantised to the operand's type; references do the same in float64.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


@triton.jit
def gptq_kernel(
    a_ptr, b_ptr, c_ptr, scales_ptr, zeros_ptr, g_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    stride_scales, stride_zeros, HAS_ORDER: tl.constexpr, GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """b: (K // 8, N) int32; zeros: (groups, N // 8) int32, one less than the true zero."""
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    shifter = (tl.arange(0, BLOCK_K) % 8) * 4
    zeros_shifter = (offs_n % 8) * 4
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a_mask = (offs_m < M)[:, None] & (k < K)[None, :]
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + k[None, :], mask=a_mask, other=0.0)
        b_mask = (k < K)[:, None] & (offs_n < N)[None, :]
        b_ptrs = b_ptr + (k // 8)[:, None] * stride_bk + offs_n[None, :]
        b = tl.load(b_ptrs, mask=b_mask, other=0)
        if HAS_ORDER:
            group = tl.load(g_ptr + k, mask=k < K, other=0)
        else:
            group = k // GROUP
        scale_ptrs = scales_ptr + group[:, None] * stride_scales + offs_n[None, :]
        zero_ptrs = zeros_ptr + group[:, None] * stride_zeros + (offs_n // 8)[None, :]
        scales = tl.load(scale_ptrs, mask=b_mask, other=0.0)
        zeros = (tl.load(zero_ptrs, mask=b_mask, other=0) >> zeros_shifter[None, :]) & 0xF
        weights = ((b >> shifter[:, None]) & 0xF) - (zeros + 1)
        acc += tl.dot(a, (weights * scales).to(a.dtype))
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N))


@triton.jit
def awq_kernel(
    a_ptr, b_ptr, c_ptr, zeros_ptr, scales_ptr, M, N, K, GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr,
):  # fmt: skip
    """b: (K, N // 8) int32. The parts of split-K go to their own planes of c."""
    pid, pid_z = tl.program_id(0), tl.program_id(1)
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid_m, pid_n = pid // tiles_n, pid % tiles_n
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    packed_n = pid_n * (BLOCK_N // 8) + tl.arange(0, BLOCK_N // 8)
    order = ((tl.arange(0, 2) * 4)[None, :] + tl.arange(0, 4)[:, None]).reshape(8)
    shifts = tl.broadcast_to((order * 4)[None, :], (BLOCK_K * (BLOCK_N // 8), 8))
    shifts = tl.reshape(shifts, (BLOCK_K, BLOCK_N))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        first = (step * SPLIT_K + pid_z) * BLOCK_K
        k = first + tl.arange(0, BLOCK_K)
        a_mask = (offs_m < M)[:, None] & (k < K)[None, :]
        a = tl.load(a_ptr + offs_m[:, None] * K + k[None, :], mask=a_mask, other=0.0)
        b_mask = (k < K)[:, None] & (packed_n < N // 8)[None, :]
        b = tl.load(b_ptr + k[:, None] * (N // 8) + packed_n[None, :], mask=b_mask, other=0)
        b = tl.interleave(b, b)
        b = tl.interleave(b, b)
        b = tl.interleave(b, b)
        group = first // GROUP
        inside = (packed_n < N // 8) & (first < K)
        z = tl.load(zeros_ptr + group * (N // 8) + packed_n, mask=inside, other=0)
        z = tl.interleave(z, z)
        z = tl.interleave(z, z)
        z = tl.interleave(z, z)
        z = tl.broadcast_to(z[None, :], (BLOCK_K, BLOCK_N))
        s = tl.load(scales_ptr + group * N + offs_n, mask=(offs_n < N) & (first < K), other=0.0)
        weights = ((b >> shifts) & 0xF) - ((z >> shifts) & 0xF)
        acc = tl.dot(a, (weights * s[None, :]).to(a.dtype), acc, out_dtype=tl.float32)
    c_ptrs = c_ptr + pid_z * M * N + offs_m[:, None] * N + offs_n[None, :]
    tl.store(c_ptrs, acc, mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


@triton.jit
def two_a_byte_kernel(
    a_ptr, b_ptr, scales_ptr, c_ptr, M, N, K, GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """b: (K // 2, N) bytes of signed nibbles, row 2i in the low ones; K a multiple of BLOCK_K."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    half_k = tl.arange(0, BLOCK_K // 2)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * K + k[None, :], mask=(offs_m < M)[:, None], other=0.0)
        at = (start // 2 + half_k)[:, None] * N + offs_n[None, :]
        packed = tl.load(b_ptr + at, mask=(offs_n < N)[None, :], other=0)
        low = (packed << 4).to(tl.int8) >> 4
        high = packed.to(tl.int8) >> 4
        both = tl.join(low.to(a.dtype), high.to(a.dtype))
        b = tl.reshape(tl.permute(both, (0, 2, 1)), (BLOCK_K, BLOCK_N))
        s = tl.load(scales_ptr + start // GROUP * N + offs_n, mask=offs_n < N, other=0.0)
        acc += tl.dot(a, b) * s[None, :]
    c_ptrs = c_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N))


@triton.jit
def byte_weights_kernel(
    a_ptr, b_ptr, scales_ptr, bias_ptr, c_ptr, M, N, K, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Weights of one byte (int8 or fp8) with a scale for each column, applied to the sums."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a_mask = (offs_m < M)[:, None] & (k < K)[None, :]
        a = tl.load(a_ptr + offs_m[:, None] * K + k[None, :], mask=a_mask, other=0.0)
        b_ptrs = b_ptr + k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        b = tl.load(b_ptrs, mask=(k < K)[:, None] & (offs_n < N)[None, :], other=0)
        acc = tl.dot(a, b.to(a.dtype), acc)
    acc *= tl.load(scales_ptr + offs_n, mask=offs_n < N, other=0.0)[None, :]
    acc += tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0)[None, :]
    c_ptrs = c_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N))


def pack_eight(nibbles, axis, order=range(8)):
    """Eight neighbours along `axis` into one int32; neighbour `order[i]` at bit 4 i."""
    rows = np.moveaxis(nibbles.astype(np.uint32), axis, 0)
    rows = rows.reshape(-1, 8, *rows.shape[1:])
    packed = sum(rows[:, source] << np.uint32(4 * i) for i, source in enumerate(order))
    return np.ascontiguousarray(np.moveaxis(packed, 0, axis)).view(np.int32)


def check(result, a, weights, scale=1.0):
    """The kernel rounds weights as it dequantises them: a relative error of one ulp each."""
    wide = a.astype(np.float64) @ weights
    ulp = 2.0**-8 if a.dtype == ml_dtypes.bfloat16 else 2.0**-11
    allowed = ulp * (np.abs(a.astype(np.float64)) @ np.abs(weights) * scale + np.abs(wide)) + 1e-4
    assert (np.abs(result.astype(np.float64) - wide) <= allowed).all()


def problem(dtype, M, N, K, group, seed):
    a = random((M, K), dtype, seed)
    q = random((K, N), "u8", seed + 1, low=0, high=16)
    zeros = random((K // group, N), "u8", seed + 2, low=1, high=16)
    scales = (random((K // group, N), "fp32", seed + 3) * 0.1).astype(np.float16)
    return a, q, zeros, scales


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "dtype, M, N, K, group", [("fp16", 5, 72, 128, 32), ("bf16", 33, 64, 192, 64)]
)
def test_gptq(device, dtype, M, N, K, group, ordered):
    """A GEMM with weights in GPTQ's packing is right for groups in any order."""
    a, q, zeros, scales = problem(dtype, M, N, K, group, 1)
    groups = np.arange(K, dtype=np.int32) // group
    if ordered:
        groups = np.random.default_rng(2).permutation(groups)
    out = device.output((M, N), dtype)
    gptq_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 32))](
        device.to(a), device.to(pack_eight(q, 0)), out.array, device.to(scales),
        device.to(pack_eight(zeros - 1, 1)), device.to(groups) if ordered else None, M, N, K,
        K, N, N, N, N // 8, HAS_ORDER=ordered, GROUP=group, BLOCK_M=16, BLOCK_N=32, BLOCK_K=32,
    )  # fmt: skip
    weights = (q.astype(np.float64) - zeros[groups]) * scales.astype(np.float64)[groups]
    check(out.numpy(), a, weights, 2)


@pytest.mark.parametrize("split", [1, 4])
@pytest.mark.parametrize("M, N, K", [(7, 80, 256), (40, 128, 320)])
def test_awq(device, M, N, K, split):
    """A GEMM with weights in AWQ's packing is right in parts of K."""
    group = 64
    a, q, zeros, scales = problem("fp16", M, N, K, group, 5)
    out = device.output((split, M, N), "fp32")
    awq_kernel[(triton.cdiv(M, 16) * triton.cdiv(N, 64), split)](
        device.to(a), device.to(pack_eight(q, 1, AWQ_ORDER)), out.array,
        device.to(pack_eight(zeros, 1, AWQ_ORDER)), device.to(scales), M, N, K, GROUP=group,
        BLOCK_M=16, BLOCK_N=64, BLOCK_K=32, SPLIT_K=split,
    )  # fmt: skip
    wide = (q.astype(np.float64) - zeros.repeat(group, 0)) * scales.astype(np.float64).repeat(
        group, 0
    )
    check(out.numpy().astype(np.float64).sum(0), a, wide, 2)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("M, N, K", [(16, 64, 128), (19, 100, 192)])
def test_two_a_byte(device, dtype, M, N, K):
    group = 64
    a, q = random((M, K), dtype, 9), random((K, N), "i8", 10, low=-8, high=8)
    scales = random((K // group, N), "fp32", 11)
    bits = q.view(np.uint8) & 15
    out = device.output((M, N), "fp32")
    two_a_byte_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 32))](
        device.to(a), device.to(bits[::2] | (bits[1::2] << 4)), device.to(scales), out.array,
        M, N, K, GROUP=group, BLOCK_M=16, BLOCK_N=32, BLOCK_K=64,
    )  # fmt: skip
    wide = a.astype(np.float64) @ (q * scales.astype(np.float64).repeat(group, 0))
    assert (np.abs(out.numpy() - wide) <= 1e-5 * np.abs(wide) + 1e-4 * np.sqrt(K)).all()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("stored", ["i8", "fp8e4nv", "fp8e5"])
def test_byte_weights(device, stored, dtype, transposed):
    M, N, K = 21, 72, 112
    a, b = random((M, K), dtype, 12), random((N, K) if transposed else (K, N), stored, 13)
    scales, bias = random(N, "fp32", 14), random(N, "fp32", 15)
    out = device.output((M, N), "fp32")
    byte_weights_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 64))](
        *map(device.to, (a, b, scales, bias)), out.array, M, N, K,
        *((1, K) if transposed else (N, 1)), BLOCK_M=16, BLOCK_N=64, BLOCK_K=32,
    )  # fmt: skip
    weights = (b.T if transposed else b).astype(np.float64) * scales
    wide = a.astype(np.float64) @ weights + bias
    size = np.abs(a.astype(np.float64)) @ np.abs(weights)
    assert (np.abs(out.numpy() - wide) <= 1e-5 * size + 1e-5).all()
