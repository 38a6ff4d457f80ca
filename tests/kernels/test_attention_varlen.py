"""Attention over packed sequences: `cu_seqlens` has the beginning of each.

Tokens of all sequences follow each other, (tokens, heads, head dim); sequences of length 0
and 1 are among them. The block size is tuned by `autotune`, the head dim padded by `heuristics`.
fp16 within 2e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 32}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
    ],
    key=["head_dim", "max_seqlen"],
)
@triton.heuristics(
    {
        "BLOCK_D": lambda args: max(triton.next_power_of_2(args["head_dim"]), 16),
        "EVEN_D": lambda args: (
            args["head_dim"] == max(triton.next_power_of_2(args["head_dim"]), 16)
        ),
    }
)
@triton.jit
def _varlen_forward(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    cu_q_ptr,
    cu_k_ptr,
    scale,
    stride_qt,
    stride_kt,
    stride_vt,
    stride_ot,
    head_dim,
    max_seqlen,
    CAUSAL: tl.constexpr,
    BLOCK_D: tl.constexpr,
    EVEN_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    block = tl.program_id(0)
    head = tl.program_id(1)
    seq = tl.program_id(2)
    q_start = tl.load(cu_q_ptr + seq)
    q_len = tl.load(cu_q_ptr + seq + 1) - q_start
    k_start = tl.load(cu_k_ptr + seq)
    k_len = tl.load(cu_k_ptr + seq + 1) - k_start
    if block * BLOCK_M >= q_len:
        return

    offs_m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    q_ptr += q_start.to(tl.int64) * stride_qt + head * head_dim
    k_ptr += k_start.to(tl.int64) * stride_kt + head * head_dim
    v_ptr += k_start.to(tl.int64) * stride_vt + head * head_dim
    o_ptr += q_start.to(tl.int64) * stride_ot + head * head_dim
    q_mask = offs_m[:, None] < q_len
    if not EVEN_D:
        q_mask = q_mask & (offs_d[None, :] < head_dim)
    q = tl.load(q_ptr + offs_m[:, None] * stride_qt + offs_d[None, :], mask=q_mask, other=0.0)

    m_i = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    diagonal = k_len - q_len
    end = tl.minimum(k_len, (block + 1) * BLOCK_M + diagonal) if CAUSAL else k_len
    for start in tl.range(0, end, BLOCK_N):
        cols = start + offs_n
        kv_mask = cols < k_len
        if EVEN_D:
            k = tl.load(
                k_ptr + cols[:, None] * stride_kt + offs_d[None, :],
                mask=kv_mask[:, None],
                other=0.0,
            )
        else:
            k = tl.load(
                k_ptr + cols[:, None] * stride_kt + offs_d[None, :],
                mask=kv_mask[:, None] & (offs_d[None, :] < head_dim),
                other=0.0,
            )
        s = tl.dot(q, tl.trans(k), out_dtype=tl.float32)
        keep = kv_mask[None, :]
        if CAUSAL:
            keep = keep & (offs_m[:, None] + diagonal >= cols[None, :])
        s = tl.where(keep, s * scale, -1.0e30)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.where(keep, tl.exp(s - m_new[:, None]), 0.0)
        rescale = tl.exp(m_i - m_new)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        v = tl.load(
            v_ptr + cols[:, None] * stride_vt + offs_d[None, :],
            mask=kv_mask[:, None] & (offs_d[None, :] < head_dim),
            other=0.0,
        )
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None])
        m_i = m_new
    acc = acc / tl.maximum(l_i, 1.0e-20)[:, None]
    tl.store(o_ptr + offs_m[:, None] * stride_ot + offs_d[None, :], acc, mask=q_mask)


def attention(q, k, v, causal):
    """One sequence in float64, (length, heads, dim)."""
    q, k, v = (x.astype(np.float64).swapaxes(0, 1) for x in (q, k, v))
    s = q @ k.swapaxes(1, 2) * q.shape[2] ** -0.5
    if causal:
        m, n = s.shape[1:]
        s = np.where(np.tri(m, n, n - m, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(axis=2, keepdims=True))
    return (p / p.sum(axis=2, keepdims=True) @ v).swapaxes(0, 1)


@pytest.mark.parametrize("head_dim, causal", [(64, True), (64, False), (40, True)])
def test_packed(device, head_dim, causal):
    """Each packed sequence, an empty one too, has its own attention."""
    q_lens = [37, 0, 1, 100, 64]
    k_lens = [37, 5, 20, 103, 64]
    if device.on_gpu:
        q_lens, k_lens = [7 * x for x in q_lens], [7 * x for x in k_lens]
    cu_q, cu_k = (np.cumsum([0, *lens]).astype(np.int32) for lens in (q_lens, k_lens))
    heads = 3
    q = random((cu_q[-1], heads, head_dim), "fp16", 1)
    k, v = (random((cu_k[-1], heads, head_dim), "fp16", seed) for seed in (2, 3))
    out = device.output(q.shape, "fp16")
    stride = heads * head_dim
    _varlen_forward[lambda meta: (triton.cdiv(max(q_lens), meta["BLOCK_M"]), heads, len(q_lens))](
        *map(device.to, (q, k, v)), out.array, device.to(cu_q), device.to(cu_k), head_dim**-0.5,
        stride, stride, stride, stride, head_dim, max(q_lens), CAUSAL=causal,
    )  # fmt: skip
    result = out.numpy().astype(np.float64)
    for i, count in enumerate(q_lens):
        if count:
            rows, cols = slice(cu_q[i], cu_q[i + 1]), slice(cu_k[i], cu_k[i + 1])
            expected = attention(q[rows], k[cols], v[cols], causal)
            np.testing.assert_allclose(result[rows], expected, atol=2e-3, rtol=2e-3)
