"""Rotary embeddings: halves or neighbours turned, in place or not, forward and backward.

Positions come from an array; part of the head dim may stay unturned; queries and keys are done by
one kernel. fp32 within 1e-6, 16-bit types within one rounding of values up to about 6.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

ALLOWED = {"fp32": 2e-6, "fp16": 4e-3, "bf16": 3.2e-2}


@triton.jit
def rope_half_kernel(
    q_ptr, q_row_stride, k_ptr, k_row_stride, cos_ptr, sin_ptr, pos_ptr,
    N_QH: tl.constexpr, N_KH: tl.constexpr, HD: tl.constexpr,
    PAD_QH: tl.constexpr, PAD_KH: tl.constexpr, PAD_HD: tl.constexpr,
    BACKWARD: tl.constexpr = False,
):  # fmt: skip
    """Turns the first half of each head with the second, all heads of a token at once, in place."""
    pid = tl.program_id(0).to(tl.int64)
    q_ptr = q_ptr + pid * q_row_stride
    k_ptr = k_ptr + pid * k_row_stride
    position = tl.load(pos_ptr + pid)
    dims = tl.arange(0, PAD_HD // 2)
    dim_mask = dims < HD // 2
    cos = tl.load(cos_ptr + position * (HD // 2) + dims, mask=dim_mask, other=0)
    sin = tl.load(sin_ptr + position * (HD // 2) + dims, mask=dim_mask, other=0)
    if BACKWARD:
        sin = -sin
    _turn_heads(q_ptr, cos, sin, dims, dim_mask, N_QH, HD, PAD_QH)
    _turn_heads(k_ptr, cos, sin, dims, dim_mask, N_KH, HD, PAD_KH)


@triton.jit
def _turn_heads(
    ptr, cos, sin, dims, dim_mask, HEADS: tl.constexpr, HD: tl.constexpr, PAD: tl.constexpr
):
    heads = tl.arange(0, PAD)
    first = heads[:, None] * HD + dims[None, :]
    mask = (heads[:, None] < HEADS) & dim_mask[None, :]
    second = first + HD // 2
    a = tl.load(ptr + first, mask=mask, other=0).to(sin.dtype)
    b = tl.load(ptr + second, mask=mask, other=0).to(sin.dtype)
    tl.store(ptr + first, a * cos[None, :] - b * sin[None, :], mask=mask)
    tl.store(ptr + second, b * cos[None, :] + a * sin[None, :], mask=mask)


@triton.jit
def rope_interleaved_kernel(
    OUT, X, seqlen, heads, base, stride_t, stride_h,
    ROTARY: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    """Turns neighbours; angles are made in the kernel, the pairs by split and join."""
    tokens = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    head = tl.program_id(1)
    pairs = tl.arange(0, ROTARY // 2)
    cols = tl.arange(0, ROTARY)
    inside = (tokens < seqlen)[:, None]
    at = tokens[:, None] * stride_t + head * stride_h + cols[None, :]
    x = tl.load(X + at, mask=inside, other=0.0).to(tl.float32)
    even, odd = tl.split(tl.reshape(x, (BLOCK_T, ROTARY // 2, 2)))
    frequency = tl.exp(pairs.to(tl.float32) * (-2.0 / ROTARY) * tl.log(base))
    angle = tokens[:, None].to(tl.float32) * frequency[None, :]
    cos, sin = tl.cos(angle), tl.sin(angle)
    turned = tl.interleave(even * cos - odd * sin, even * sin + odd * cos)
    tl.store(OUT + at, turned, mask=inside)
    if ROTARY < HEAD_DIM:
        rest = ROTARY + tl.arange(0, HEAD_DIM - ROTARY)
        at = tokens[:, None] * stride_t + head * stride_h + rest[None, :]
        tl.store(OUT + at, tl.load(X + at, mask=inside), mask=inside)


def angles(positions, pairs, base=10000.0):
    return positions[:, None] * base ** (-np.arange(pairs) / pairs)


def turned_halves(x, theta):
    """X is (tokens, heads, dim), theta (tokens, dim / 2)."""
    a, b = np.split(x.astype(np.float64), 2, axis=2)
    cos, sin = np.cos(theta)[:, None], np.sin(theta)[:, None]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=2)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("dtype, head_dim", [("fp32", 64), ("bf16", 96), ("fp16", 128)])
def test_halves(device, dtype, head_dim, backward):
    """Halves of queries and keys are rotated in place, and back."""
    tokens = 1000 if device.on_gpu else 21
    q_heads, k_heads = 6, 2
    q, k = (
        random((tokens, q_heads, head_dim), dtype, 1),
        random((tokens, k_heads, head_dim), dtype, 2),
    )
    positions = random(tokens, "i64", 3, low=0, high=500)
    table = angles(np.arange(500), head_dim // 2)
    cos, sin = np.cos(table).astype(np.float32), np.sin(table).astype(np.float32)
    d_q, d_k = device.to(q.copy()), device.to(k.copy())
    rope_half_kernel[(tokens,)](
        d_q, q_heads * head_dim, d_k, k_heads * head_dim, *map(device.to, (cos, sin, positions)),
        q_heads, k_heads, head_dim, triton.next_power_of_2(q_heads),
        triton.next_power_of_2(k_heads), triton.next_power_of_2(head_dim), BACKWARD=backward,
    )  # fmt: skip
    theta = table[positions] * (-1 if backward else 1)
    for result, x in ((d_q, q), (d_k, k)):
        np.testing.assert_allclose(
            device.numpy(result).astype(np.float64), turned_halves(x, theta),
            atol=ALLOWED[dtype], rtol=ALLOWED[dtype],
        )  # fmt: skip


@pytest.mark.parametrize("rotary", [64, 32])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_neighbours(device, dtype, rotary):
    """Neighbours are rotated, and what is not rotary stays."""
    tokens, heads, head_dim = (517, 4, 64) if device.on_gpu else (53, 3, 64)
    x = random((tokens, heads, head_dim), dtype, 4)
    out = device.output(x.shape, dtype)
    rope_interleaved_kernel[(triton.cdiv(tokens, 16), heads)](
        out.array, device.to(x), tokens, heads, 10000.0, heads * head_dim, head_dim,
        ROTARY=rotary, HEAD_DIM=head_dim, BLOCK_T=16,
    )  # fmt: skip
    theta = angles(np.arange(tokens), rotary // 2)
    expected = x.astype(np.float64)
    cos, sin = np.cos(theta)[:, None], np.sin(theta)[:, None]
    even, odd = expected[..., 0:rotary:2].copy(), expected[..., 1:rotary:2].copy()
    expected[..., 0:rotary:2] = even * cos - odd * sin
    expected[..., 1:rotary:2] = even * sin + odd * cos
    # Angles are fp32: up to `tokens` radians, they are off by some of its roundings.
    allowed = ALLOWED[dtype] + 4e-7 * tokens
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=allowed, rtol=0)
