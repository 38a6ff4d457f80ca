"""Quantised GEMMs: fp8 with a scale for each 1 x 128 of a and 128 x 128 of b, int8 by rows.

The layout of DeepSeek-V3: activations are quantised per token and group on the fly, weights by
blocks beforehand. Quantised values follow from float32 arithmetic exactly; results of dots are compared
with those of the quantised values, and must lie near those of the originals.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

FP8 = {"fp8e4nv": (ml_dtypes.float8_e4m3fn, 448.0), "fp8e5": (ml_dtypes.float8_e5m2, 57344.0)}


@triton.jit
def quantize_groups_kernel(
    x_ptr, q_ptr, scale_ptr, groups, stride_scale_row, stride_scale_group, LARGEST: tl.constexpr,
    GROUP: tl.constexpr, POWER_OF_TWO: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0).to(tl.int64)
    row, group = pid // groups, pid % groups
    at = pid * GROUP + tl.arange(0, GROUP)
    x = tl.load(x_ptr + at).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x)), 1e-10) / LARGEST
    if POWER_OF_TWO:
        scale = tl.exp2(tl.ceil(tl.log2(scale)))
    q = tl.clamp(tl.div_rn(x, scale), -LARGEST, LARGEST).to(q_ptr.dtype.element_ty)
    tl.store(q_ptr + at, q)
    tl.store(scale_ptr + row * stride_scale_row + group * stride_scale_group, scale)


@triton.jit
def dequantize_blocks_kernel(q_ptr, scale_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    m, n = pid_m * BLOCK + tl.arange(0, BLOCK), pid_n * BLOCK + tl.arange(0, BLOCK)
    at = m[:, None] * N + n[None, :]
    mask = (m < M)[:, None] & (n < N)[None, :]
    q = tl.load(q_ptr + at, mask=mask).to(tl.float32)
    tl.store(out_ptr + at, q * tl.load(scale_ptr + pid_m * tl.num_programs(1) + pid_n), mask=mask)


@triton.jit
def block_scaled_kernel(
    a_ptr, b_ptr, c_ptr, as_ptr, bs_ptr, M, N, K, group_n, group_k,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    stride_as_m, stride_as_k, stride_bs_k, stride_bs_n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    width = GROUP_M * num_pid_n
    first = (pid // width) * GROUP_M
    rows = min(num_pid_m - first, GROUP_M)
    pid_m = first + (pid % rows)
    pid_n = (pid % width) // rows
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    as_ptrs = as_ptr + offs_am * stride_as_m
    bs_ptrs = bs_ptr + offs_bn // group_n * stride_bs_n
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        offs_ks = k * BLOCK_K // group_k
        a_s = tl.load(as_ptrs + offs_ks * stride_as_k)
        b_s = tl.load(bs_ptrs + offs_ks * stride_bs_k)
        acc += tl.dot(a, b) * a_s[:, None] * b_s[None, :]
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def int8_product_kernel(
    a_ptr, b_ptr, c_ptr, scale_a_ptr, scale_b_ptr, M, N, K, ASYMMETRIC: tl.constexpr,
    zero_a_ptr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """With `ASYMMETRIC` rows of a have zero points, taken off through the sums of b's columns."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    column_sums = tl.zeros([BLOCK_N], dtype=tl.int32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a_mask, b_mask = (m < M)[:, None] & (k < K)[None, :], (k < K)[:, None] & (n < N)[None, :]
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=a_mask, other=0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=b_mask, other=0)
        acc = tl.dot(a, b, acc)
        if ASYMMETRIC:
            column_sums += tl.sum(b.to(tl.int32), axis=0)
    if ASYMMETRIC:
        acc -= tl.load(zero_a_ptr + m, mask=m < M, other=0)[:, None] * column_sums[None, :]
    scale_a = tl.load(scale_a_ptr + m, mask=m < M, other=0.0)
    scale_b = tl.load(scale_b_ptr + n, mask=n < N, other=0.0)
    c = acc.to(tl.float32) * scale_a[:, None] * scale_b[None, :]
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], c, mask=mask)


def quantize_blocks(w, dtype, block):
    """Weights (N, K) as fp8 and the scale of each block of `block` x `block`."""
    kind, largest = FP8[dtype]
    pad = [(0, -size % block) for size in w.shape]
    tiles = np.pad(w, pad).reshape(-(-w.shape[0] // block), block, -(-w.shape[1] // block), block)
    scales = (np.abs(tiles).max(axis=(1, 3)) / largest).astype(np.float32)
    whole = scales.repeat(block, 0).repeat(block, 1)[: w.shape[0], : w.shape[1]]
    return (w / whole).astype(kind), scales, whole.astype(np.float64)


@pytest.mark.parametrize("dtype", list(FP8))
@pytest.mark.parametrize("source", ["bf16", "fp32"])
@pytest.mark.parametrize("power", [False, True])
def test_quantize_groups(device, dtype, source, power):
    rows, columns, group = 9, 384, 128
    kind, largest = FP8[dtype]
    x = random((rows, columns), source, 1)
    x[2, :group] = 0
    q, scales = device.output(x.shape, dtype), device.output((columns // group, rows), "fp32")
    quantize_groups_kernel[(rows * columns // group,)](
        device.to(x), q.array, scales.array, columns // group, 1, rows, LARGEST=largest,
        GROUP=group, POWER_OF_TWO=power,
    )  # fmt: skip
    tiles = x.astype(np.float32).reshape(rows, -1, group)
    expected = np.maximum(np.abs(tiles).max(2), np.float32(1e-10)) / np.float32(largest)
    if power:
        expected = np.exp2(np.ceil(np.log2(expected)))
    np.testing.assert_allclose(scales.numpy().T, expected, rtol=5e-7)
    exact = (tiles / scales.numpy().T[..., None]).clip(-largest, largest).astype(kind)
    np.testing.assert_array_equal(
        q.numpy().astype(np.float32), exact.reshape(x.shape).astype(np.float32)
    )


def test_dequantize_blocks(device):
    w = random((200, 130), "fp32", 2)
    q, scales, whole = quantize_blocks(w, "fp8e4nv", 64)
    out = device.output(w.shape, "fp32")
    dequantize_blocks_kernel[scales.shape](
        device.to(q), device.to(scales), out.array, *w.shape, BLOCK=64
    )
    np.testing.assert_allclose(out.numpy(), q.astype(np.float64) * whole, rtol=1e-7)


@pytest.mark.parametrize("dtype", list(FP8))
@pytest.mark.parametrize("M, N, K", [(17, 200, 256), (64, 128, 384)])
@pytest.mark.parametrize("choice", [None, "tile-combine-factors"])
def test_block_scaled_gemm(device, M, N, K, dtype, choice):
    if device.on_gpu:
        M, N, K = 8 * M, 4 * N, 4 * K
    group, largest = 128, FP8[dtype][1]
    x, w = random((M, K), "bf16", 3), random((N, K), "fp32", 4)
    q, scales = device.output((M, K), dtype), device.output((K // group, M), "fp32")
    quantize_groups_kernel[(M * K // group,)](
        device.to(x), q.array, scales.array, K // group, 1, M, LARGEST=largest, GROUP=group,
        POWER_OF_TWO=False,
    )  # fmt: skip
    wq, w_scales, whole = quantize_blocks(w, dtype, group)
    out = device.output((M, N), "fp32")
    block_scaled_kernel[(triton.cdiv(M, 32) * triton.cdiv(N, 64),)](
        q.array, device.to(wq), out.array, scales.array, device.to(w_scales), M, N, K, group, group,
        K, 1, 1, K, N, 1, 1, M, 1, K // group, BLOCK_M=32, BLOCK_N=64, BLOCK_K=128, GROUP_M=8,
        enabled_passes=choice,
    )  # fmt: skip
    a = q.numpy().astype(np.float64) * scales.numpy().T.astype(np.float64).repeat(group, 1)
    b = wq.astype(np.float64) * whole
    # Hopper's tensor cores keep 13 bits of fraction where they sum products of fp8.
    exact = 2.0**-12 if device.on_gpu else 1e-5
    assert (np.abs(out.numpy() - a @ b.T) <= exact * (np.abs(a) @ np.abs(b).T) + 1e-4).all()
    step = 2.0**-4 if dtype == "fp8e4nv" else 2.0**-3
    near = 2 * step * (np.abs(x.astype(np.float64)) @ np.abs(w.T.astype(np.float64)))
    assert (np.abs(out.numpy() - x.astype(np.float64) @ w.T.astype(np.float64)) <= near).all()


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("M, N, K", [(40, 72, 100), (16, 33, 256)])
def test_int8_gemm(device, M, N, K, asymmetric):
    a = random((M, K), "i8", 5, low=-128, high=128)
    b = random((K, N), "i8", 6, low=-128, high=128)
    zeros = random(M, "i32", 7, low=-128, high=128)
    rows, columns = np.abs(random(M, "fp32", 8)), np.abs(random(N, "fp32", 9))
    out = device.output((M, N), "fp32")
    int8_product_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        device.to(a), device.to(b), out.array, device.to(rows), device.to(columns), M, N, K,
        asymmetric, device.to(zeros), BLOCK_M=32, BLOCK_N=32, BLOCK_K=64,
    )  # fmt: skip
    left = a.astype(np.float64) - (zeros[:, None] if asymmetric else 0)
    expected = left @ b.astype(np.float64) * rows[:, None] * columns
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)
