"""GEMMs of halves with weights in MXFP4: two e2m1 a byte, and an e8m0 scale for each 32 of them.

The format is that of OCP's Microscaling Formats (MX) Specification 1.0. One kernel leaves the
weights to `tl.dot_scaled`, the other unpacks them by integer arithmetic into bf16. A scaled weight
has two bits of significand, so that it is exact: an element may be off by 2^-16 |a| |b| for sums in
fp32, and by half a step of its own (2^-11 |c| in fp16, 2^-8 |c| in bf16).
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


@triton.jit
def mxfp4_kernel(
    a_ptr, b_ptr, scales_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """b: (N, K // 2), the even k low; scales: (N, K // 32). K is a multiple of BLOCK_K."""
    A_FORMAT: tl.constexpr = "bf16" if a_ptr.dtype.element_ty == tl.bfloat16 else "fp16"
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    pair = tl.arange(0, BLOCK_K // 2)
    group = tl.arange(0, BLOCK_K // 32)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + n[None, :] * (K // 2) + pair[:, None]
    scale_ptrs = scales_ptr + n[:, None] * (K // 32) + group[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(m < M)[:, None], other=0.0)
        b = tl.load(b_ptrs, mask=(n < N)[None, :], other=0)
        scale = tl.load(scale_ptrs, mask=(n < N)[:, None], other=0)
        acc = tl.dot_scaled(a, None, A_FORMAT, b, scale, "e2m1", acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K // 2
        scale_ptrs += BLOCK_K // 32
    c_ptrs = c_ptr + m[:, None] * N + n[None, :]
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _e2m1_to_bf16(code):
    """The number of four bits: its sign, two bits of exponent, one of fraction."""
    code = code.to(tl.uint16)
    bits = (code & 8) << 12 | (code & 7) << 6
    # Exponents have a bias of 1 here, and of 127 there; the one subnormal number is a half.
    bits = tl.where((code & 6) != 0, bits + (126 << 7), bits)
    bits = tl.where((code & 7) == 1, bits & 0x8000 | 126 << 7, bits)
    return bits.to(tl.bfloat16, bitcast=True)


@triton.jit
def mxfp4_by_hand_kernel(
    a_ptr, b_ptr, scales_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """As `mxfp4_kernel`. A scale is the exponent of a bf16 number; 2^-127 counts as zero."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    pair = tl.arange(0, BLOCK_K // 2)
    group = tl.arange(0, BLOCK_K // 32)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + n[:, None] * (K // 2) + pair[None, :]
    scale_ptrs = scales_ptr + n[:, None] * (K // 32) + group[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(m < M)[:, None], other=0.0)
        b = tl.load(b_ptrs, mask=(n < N)[:, None], other=0)
        scale = tl.load(scale_ptrs, mask=(n < N)[:, None], other=0)
        scale = (scale.to(tl.uint16) << 7).to(tl.bfloat16, bitcast=True)
        w = tl.interleave(_e2m1_to_bf16(b & 15), _e2m1_to_bf16(b >> 4))
        w = tl.reshape(w, (BLOCK_N, BLOCK_K // 32, 32)) * scale[:, :, None]
        w = tl.reshape(w, (BLOCK_N, BLOCK_K))
        acc = tl.dot(a, tl.trans(w).to(a.dtype), acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K // 2
        scale_ptrs += BLOCK_K // 32
    c_ptrs = c_ptr + m[:, None] * N + n[None, :]
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def weights(N, K, seed):
    """Bytes, scales, and the numbers that they stand for."""
    codes = random((N, K), "u8", seed, low=0, high=16)
    scales = random((N, K // 32), "u8", seed + 1, low=118, high=131)
    values = np.where(codes & 8, -1, 1) * E2M1[codes & 7]
    return (
        codes[:, ::2] | codes[:, 1::2] << 4,
        scales,
        values * np.exp2(scales.astype(np.float64) - 127).repeat(32, 1),
    )


@pytest.mark.parametrize("kernel", [mxfp4_kernel, mxfp4_by_hand_kernel])
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize(
    "M, N, K, blocks, warps, stages",
    [
        (5, 72, 256, (16, 32, 64), 4, 2),
        (70, 100, 192, (64, 64, 64), 4, 3),
        (130, 72, 256, (128, 64, 128), 8, 2),
        (33, 40, 96, (32, 32, 32), 2, 1),
    ],
)
def test_mxfp4(device, kernel, dtype, M, N, K, blocks, warps, stages):
    """A GEMM with MXFP4 weights agrees with one of the decoded weights."""
    if device.on_gpu:
        M, N, K = 4 * M, 4 * N, 4 * K
    a = random((M, K), dtype, 1)
    b, scales, wide = weights(N, K, 2)
    c = device.output((M, N), dtype)
    kernel[(triton.cdiv(M, blocks[0]), triton.cdiv(N, blocks[1]))](
        device.to(a), device.to(b), device.to(scales), c.array, M, N, K,
        *blocks, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    exact = a.astype(np.float64) @ wide.T
    allowed = 2.0**-16 * (np.abs(a.astype(np.float64)) @ np.abs(wide).T)
    allowed += float(ml_dtypes.finfo(c.dtype).eps) / 2 * np.abs(exact)
    assert (np.abs(c.numpy().astype(np.float64) - exact) <= allowed).all()
