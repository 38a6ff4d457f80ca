"""Prefill after a cached prefix: new tokens see the cache through slots, then each other.

Two loops with different loads in one kernel, grouped heads, head dims with an extra rotary part (as
in latent attention: scores over dim + rope, values over dim), soft-capped scores, and rows of a
batch of unequal lengths. fp16 within 2e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from pantile.language.extra import libdevice


@triton.jit
def _softmax_step(acc, deno, e_max, qk, v):
    n_e_max = tl.maximum(tl.max(qk, 1), e_max)
    safe = tl.where(n_e_max > float("-inf"), n_e_max, 0.0)
    re_scale = tl.exp(e_max - safe)
    p = tl.exp(qk - safe[:, None])
    deno = deno * re_scale + tl.sum(p, 1)
    acc = acc * re_scale[:, None] + tl.dot(p.to(v.dtype), v)
    return acc, deno, n_e_max


@triton.jit
def extend_kernel(
    Q_Extend, K_Extend, V_Extend, O_Extend, K_Buffer, V_Buffer, qo_indptr, kv_indptr, kv_indices,
    sm_scale, logit_cap, kv_group_num,
    stride_qbs, stride_qh, stride_kbs, stride_kh, stride_vbs, stride_vh, stride_obs, stride_oh,
    stride_buf_kbs, stride_buf_kh, stride_buf_vbs, stride_buf_vh,
    Lq: tl.constexpr, BLOCK_DMODEL: tl.constexpr, BLOCK_DPE: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAP: tl.constexpr,
):  # fmt: skip
    cur_seq = tl.program_id(0)
    cur_head = tl.program_id(1)
    cur_block_m = tl.program_id(2)
    cur_kv_head = cur_head // kv_group_num
    extend_start = tl.load(qo_indptr + cur_seq)
    len_extend = tl.load(qo_indptr + cur_seq + 1) - extend_start
    prefix_start = tl.load(kv_indptr + cur_seq)
    len_prefix = tl.load(kv_indptr + cur_seq + 1) - prefix_start

    offs_d = tl.arange(0, BLOCK_DMODEL)
    offs_dv = tl.arange(0, BLOCK_DV)
    offs_n = tl.arange(0, BLOCK_N)
    offs_m = cur_block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = offs_m < len_extend
    row = (extend_start + offs_m[:, None]) * stride_qbs + cur_head * stride_qh
    q = tl.load(Q_Extend + row + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    if BLOCK_DPE > 0:
        offs_dpe = BLOCK_DMODEL + tl.arange(0, BLOCK_DPE)
        qpe = tl.load(Q_Extend + row + offs_dpe[None, :], mask=mask_m[:, None], other=0.0)

    acc = tl.zeros([BLOCK_M, BLOCK_DV], dtype=tl.float32)
    deno = tl.zeros([BLOCK_M], dtype=tl.float32)
    e_max = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    for start_n in range(0, len_prefix, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        mask_n = start_n + offs_n < len_prefix
        slot = tl.load(kv_indices + prefix_start + start_n + offs_n, mask=mask_n, other=0)
        at = slot[None, :] * stride_buf_kbs + cur_kv_head * stride_buf_kh
        k = tl.load(K_Buffer + at + offs_d[:, None], mask=mask_n[None, :], other=0.0)
        qk = tl.dot(q.to(k.dtype), k)
        if BLOCK_DPE > 0:
            kpe = tl.load(K_Buffer + at + offs_dpe[:, None], mask=mask_n[None, :], other=0.0)
            qk += tl.dot(qpe.to(kpe.dtype), kpe)
        qk *= sm_scale
        if CAP:
            qk = logit_cap * libdevice.tanh(qk / logit_cap)
        qk = tl.where(mask_m[:, None] & mask_n[None, :], qk, float("-inf"))
        at = slot[:, None] * stride_buf_vbs + cur_kv_head * stride_buf_vh
        v = tl.load(V_Buffer + at + offs_dv[None, :], mask=mask_n[:, None], other=0.0)
        acc, deno, e_max = _softmax_step(acc, deno, e_max, qk, v)

    block_m_end = tl.minimum(len_extend, (cur_block_m + 1) * BLOCK_M)
    for start_n in range(0, block_m_end, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        mask_n = start_n + offs_n < block_m_end
        at = (extend_start + start_n + offs_n[None, :]) * stride_kbs + cur_kv_head * stride_kh
        k = tl.load(K_Extend + at + offs_d[:, None], mask=mask_n[None, :], other=0.0)
        qk = tl.dot(q, k, out_dtype=tl.float32)
        if BLOCK_DPE > 0:
            kpe = tl.load(K_Extend + at + offs_dpe[:, None], mask=mask_n[None, :], other=0.0)
            qk += tl.dot(qpe, kpe)
        qk *= sm_scale
        if CAP:
            qk = logit_cap * libdevice.tanh(qk / logit_cap)
        mask_causal = offs_m[:, None] >= (start_n + offs_n[None, :])
        mask_causal &= mask_m[:, None] & mask_n[None, :]
        qk = tl.where(mask_causal, qk, float("-inf"))
        at = (extend_start + start_n + offs_n[:, None]) * stride_vbs + cur_kv_head * stride_vh
        v = tl.load(V_Extend + at + offs_dv[None, :], mask=mask_n[:, None], other=0.0)
        acc, deno, e_max = _softmax_step(acc, deno, e_max, qk, v)

    row = (extend_start + offs_m[:, None]) * stride_obs + cur_head * stride_oh
    out = acc / tl.where(deno > 0, deno, 1.0)[:, None]
    tl.store(O_Extend + row + offs_dv[None, :], out, mask=mask_m[:, None])


def attention(q, k, v, cap):
    """Queries are the last tokens; (tokens, heads, dim), float64."""
    s = np.einsum("qhd,khd->hqk", q, k) * q.shape[2] ** -0.5
    if cap:
        s = cap * np.tanh(s / cap)
    s = np.where(np.tri(len(q), len(k), len(k) - len(q), dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(axis=2, keepdims=True))
    return np.einsum("hqk,khd->qhd", p / p.sum(axis=2, keepdims=True), v)


@pytest.mark.parametrize(
    "dim, rope, value_dim, heads, kv_heads, cap",
    [(64, 0, 64, 4, 2, 0.0), (128, 64, 128, 2, 1, 0.0), (64, 0, 64, 2, 2, 4.0)],
)
def test_extend(device, dim, rope, value_dim, heads, kv_heads, cap):
    """New tokens attend to the cached prefix and to those before them."""
    news, prefixes = (
        ([33, 1, 70], [20, 45, 0]) if not device.on_gpu else ([330, 1, 70], [200, 450, 0])
    )
    indptr, prefix_indptr = (np.cumsum([0, *x]).astype(np.int32) for x in (news, prefixes))
    slots = (
        np.random.default_rng(5)
        .permutation(prefix_indptr[-1] + 9)[: prefix_indptr[-1]]
        .astype(np.int32)
    )
    width = dim + rope
    q = random((indptr[-1], heads, width), "fp16", 1)
    k, v = (
        random((indptr[-1], kv_heads, width), "fp16", 2),
        random((indptr[-1], kv_heads, value_dim), "fp16", 3),
    )
    k_buffer = random((len(slots) + 9, kv_heads, width), "fp16", 4)
    v_buffer = random((len(slots) + 9, kv_heads, value_dim), "fp16", 6)
    out = device.output((indptr[-1], heads, value_dim), "fp16")
    d_q, d_k, d_v, d_kb, d_vb = map(device.to, (q, k, v, k_buffer, v_buffer))
    strides = [s for x in (d_q, d_k, d_v, out.array, d_kb, d_vb) for s in device.strides(x)[:2]]
    extend_kernel[(len(news), heads, triton.cdiv(max(news), 64))](
        d_q, d_k, d_v, out.array, d_kb, d_vb, *map(device.to, (indptr, prefix_indptr, slots)),
        width**-0.5, cap, heads // kv_heads, *strides, Lq=width, BLOCK_DMODEL=dim, BLOCK_DPE=rope,
        BLOCK_DV=value_dim, BLOCK_M=64, BLOCK_N=32, CAP=cap > 0, num_warps=4, num_stages=1,
    )  # fmt: skip
    result = out.numpy().astype(np.float64)
    for i in range(len(news)):
        rows = slice(indptr[i], indptr[i + 1])
        cached = slots[prefix_indptr[i] : prefix_indptr[i + 1]]
        keys, values = (
            np.concatenate([k_buffer[cached], k[rows]]),
            np.concatenate([v_buffer[cached], v[rows]]),
        )
        keys, values = (
            np.repeat(x.astype(np.float64), heads // kv_heads, axis=1) for x in (keys, values)
        )
        expected = attention(q[rows].astype(np.float64), keys, values, cap)
        np.testing.assert_allclose(result[rows], expected, atol=2e-3, rtol=2e-3)
