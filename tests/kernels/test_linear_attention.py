"""Linear attention in chunks: with decay, and with the delta rule, against plain recurrences.

Within a chunk there is a masked dot of queries and keys; between chunks the state (d_k, d_v) carries
what came before. The delta rule, S_t = S_(t-1) + k_t b_t (v_t - S_(t-1)^T k_t)^T, needs the inverse
of a unit triangular matrix: it is made row by row. Block pointers as in the field's libraries. fp32
with IEEE dots within 1e-3, bf16 within 3e-2 of the largest.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.heuristics(
    {
        "USE_INITIAL_STATE": lambda args: args["h0"] is not None,
        "STORE_FINAL_STATE": lambda args: args["ht"] is not None,
    }
)
@triton.jit
def fused_chunk_kernel(
    q, k, v, g, o, h0, ht, scale, T,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr, BV: tl.constexpr, PRECISION: tl.constexpr,
    USE_INITIAL_STATE: tl.constexpr, STORE_FINAL_STATE: tl.constexpr,
):  # fmt: skip
    """o_t = scale q_t S_t, S_t = exp(g_t) S_(t-1) + k_t v_t; (B, T, H, K or V), g (B, T, H)."""
    i_v, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    q += (i_b * T * H + i_h) * K
    k += (i_b * T * H + i_h) * K
    v += (i_b * T * H + i_h) * V
    o += (i_b * T * H + i_h) * V
    o_i = tl.arange(0, BT)
    m_s = o_i[:, None] >= o_i[None, :]
    b_h = tl.zeros([K, BV], dtype=tl.float32)
    if USE_INITIAL_STATE:
        p_h = tl.make_block_ptr(h0 + i_bh * K * V, (K, V), (V, 1), (0, i_v * BV), (K, BV), (1, 0))
        b_h = tl.load(p_h, boundary_check=(0, 1)).to(tl.float32)
    for i_t in range(0, tl.cdiv(T, BT)):
        p_q = tl.make_block_ptr(q, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
        p_k = tl.make_block_ptr(k, (K, T), (1, H * K), (0, i_t * BT), (K, BT), (0, 1))
        p_v = tl.make_block_ptr(v, (T, V), (H * V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        p_o = tl.make_block_ptr(o, (T, V), (H * V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        b_q = tl.load(p_q, boundary_check=(0, 1))
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_v = tl.load(p_v, boundary_check=(0, 1))
        t = i_t * BT + o_i
        b_g = tl.cumsum(tl.load(g + (i_b * T + t) * H + i_h, mask=t < T, other=0.0), axis=0)
        b_g_last = tl.sum(tl.where(o_i == BT - 1, b_g, 0.0), 0)
        b_s = tl.dot(b_q, b_k, input_precision=PRECISION)
        b_s = tl.where(m_s, b_s * tl.exp(b_g[:, None] - b_g[None, :]), 0.0)
        b_o = tl.dot(b_s.to(b_v.dtype), b_v, input_precision=PRECISION)
        b_o += tl.dot(b_q, b_h.to(b_q.dtype), input_precision=PRECISION) * tl.exp(b_g)[:, None]
        tl.store(p_o, (b_o * scale).to(p_o.dtype.element_ty), boundary_check=(0, 1))
        b_v = (b_v * tl.exp(b_g_last - b_g)[:, None]).to(b_v.dtype)
        b_h = b_h * tl.exp(b_g_last) + tl.dot(b_k, b_v, input_precision=PRECISION)
    if STORE_FINAL_STATE:
        p_h = tl.make_block_ptr(ht + i_bh * K * V, (K, V), (V, 1), (0, i_v * BV), (K, BV), (1, 0))
        tl.store(p_h, b_h.to(p_h.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def delta_prepare_kernel(
    k, v, beta, w, u, T,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """A chunk's w and u: (1 + tril(b k k^T, -1))^-1 applied to b k and to b v."""
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    start = i_b * T * H + i_h
    o_i = tl.arange(0, BT)
    p_k = tl.make_block_ptr(k + start * K, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
    p_v = tl.make_block_ptr(v + start * V, (T, V), (H * V, 1), (i_t * BT, 0), (BT, V), (1, 0))
    p_beta = tl.make_block_ptr(beta + start, (T,), (H,), (i_t * BT,), (BT,), (0,))
    b_k = tl.load(p_k, boundary_check=(0, 1))
    b_beta = tl.load(p_beta, boundary_check=(0,)).to(tl.float32)
    b_kb = (b_k * b_beta[:, None]).to(b_k.dtype)
    b_A = tl.dot(b_kb, tl.trans(b_k), input_precision=PRECISION)
    b_A = -tl.where(o_i[:, None] > o_i[None, :], b_A, 0.0)
    for i in range(1, BT):
        row = tl.sum(tl.where((o_i == i)[:, None], b_A, 0.0), 0)
        row = row + tl.sum(row[:, None] * b_A, 0) * (o_i < i)
        b_A = tl.where((o_i == i)[:, None], row[None, :], b_A)
    b_A += (o_i[:, None] == o_i[None, :]).to(tl.float32)
    b_A = b_A.to(b_k.dtype)
    b_v = tl.load(p_v, boundary_check=(0, 1))
    b_vb = (b_v * b_beta[:, None]).to(b_v.dtype)
    b_w = tl.dot(b_A, b_kb, input_precision=PRECISION)
    b_u = tl.dot(b_A, b_vb, input_precision=PRECISION)
    p_w = tl.make_block_ptr(w + start * K, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
    p_u = tl.make_block_ptr(u + start * V, (T, V), (H * V, 1), (i_t * BT, 0), (BT, V), (1, 0))
    tl.store(p_w, b_w.to(p_w.dtype.element_ty), boundary_check=(0, 1))
    tl.store(p_u, b_u.to(p_u.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def delta_recurrence_kernel(
    q, k, w, u, o, scale, T,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    i_bh = tl.program_id(0)
    start = (i_bh // H) * T * H + i_bh % H
    p_q = tl.make_block_ptr(q + start * K, (T, K), (H * K, 1), (0, 0), (BT, K), (1, 0))
    p_k = tl.make_block_ptr(k + start * K, (K, T), (1, H * K), (0, 0), (K, BT), (0, 1))
    p_w = tl.make_block_ptr(w + start * K, (T, K), (H * K, 1), (0, 0), (BT, K), (1, 0))
    p_u = tl.make_block_ptr(u + start * V, (T, V), (H * V, 1), (0, 0), (BT, V), (1, 0))
    p_o = tl.make_block_ptr(o + start * V, (T, V), (H * V, 1), (0, 0), (BT, V), (1, 0))
    o_i = tl.arange(0, BT)
    b_h = tl.zeros([K, V], dtype=tl.float32)
    for _ in range(0, tl.cdiv(T, BT)):
        b_q = tl.load(p_q, boundary_check=(0, 1))
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_w = tl.load(p_w, boundary_check=(0, 1))
        b_u = tl.load(p_u, boundary_check=(0, 1))
        b_state = b_h.to(b_q.dtype)
        b_new = (b_u - tl.dot(b_w, b_state, input_precision=PRECISION)).to(b_k.dtype)
        b_s = tl.dot(b_q, b_k, input_precision=PRECISION)
        b_s = tl.where(o_i[:, None] >= o_i[None, :], b_s, 0.0).to(b_q.dtype)
        b_o = tl.dot(b_q, b_state, input_precision=PRECISION)
        b_o += tl.dot(b_s, b_new, input_precision=PRECISION)
        tl.store(p_o, (b_o * scale).to(p_o.dtype.element_ty), boundary_check=(0, 1))
        b_h += tl.dot(b_k, b_new, input_precision=PRECISION)
        p_q = tl.advance(p_q, (BT, 0))
        p_k = tl.advance(p_k, (0, BT))
        p_w = tl.advance(p_w, (BT, 0))
        p_u = tl.advance(p_u, (BT, 0))
        p_o = tl.advance(p_o, (BT, 0))


def by_token(q, k, v, scale, state, decay=None, beta=None):
    """The recurrences' outputs and last state; arrays (B, T, H, D), states (B, H, K, V)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    state = state.astype(np.float64)
    out = np.empty(v.shape)
    for t in range(q.shape[1]):
        value = v[:, t]
        if decay is not None:
            state = state * np.exp(decay[:, t].astype(np.float64))[..., None, None]
        if beta is not None:
            seen = np.einsum("bhkv,bhk->bhv", state, k[:, t])
            value = beta[:, t].astype(np.float64)[..., None] * (value - seen)
        state = state + np.einsum("bhk,bhv->bhkv", k[:, t], value)
        out[:, t] = scale * np.einsum("bhk,bhkv->bhv", q[:, t], state)
    return out, state


def close(result, expected, dtype):
    allowed = (1e-3 if dtype == "fp32" else 3e-2) * np.abs(expected).max()
    np.testing.assert_allclose(result.astype(np.float64), expected, atol=allowed, rtol=0)


@pytest.mark.parametrize("without", [None, "producer-past-stores"])
@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize(
    "dtype, K, V, BT", [("fp32", 32, 48, 16), ("bf16", 64, 64, 32), ("bf16", 64, 64, 64)]
)
def test_decay(device, dtype, K, V, BT, with_state, without):
    """Chunks with decay give the results and the last state of the recurrence."""
    B, T, H = (2, 517, 4) if device.on_gpu else (1, 77, 2)
    q, k, v = (
        random((B, T, H, K), dtype, 1),
        random((B, T, H, K), dtype, 2),
        random((B, T, H, V), dtype, 3),
    )
    g = np.log(1 / (1 + np.exp(-random((B, T, H), "fp32", 4) - 2)))
    h0 = random((B, H, K, V), "fp32", 5)
    o, ht = device.output(v.shape, dtype), device.output(h0.shape, "fp32")
    precision = "ieee" if dtype == "fp32" else None
    fused_chunk_kernel[(triton.cdiv(V, 32), B * H)](
        *map(device.to, (q, k, v, g)), o.array, device.to(h0) if with_state else None,
        ht.array if with_state else None, K**-0.5, T, H, K, V, BT=BT, BV=32, PRECISION=precision,
        disabled_passes=without,
    )  # fmt: skip
    expected, state = by_token(q, k, v, K**-0.5, h0 if with_state else np.zeros(h0.shape), decay=g)
    close(o.numpy(), expected, dtype)
    if with_state:
        close(ht.numpy(), state, dtype)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_delta_rule(device, dtype):
    B, T, H, K, V, BT = (2, 333, 4, 64, 64, 32) if device.on_gpu else (1, 50, 2, 32, 32, 16)
    q, k, v = (
        random((B, T, H, K), dtype, 6),
        random((B, T, H, K), "fp32", 7),
        random((B, T, H, V), dtype, 8),
    )
    k = (k / np.linalg.norm(k, axis=3, keepdims=True)).astype(q.dtype)
    beta = (1 / (1 + np.exp(-random((B, T, H), "fp32", 9)))).astype(q.dtype)
    d_q, d_k, d_v, d_beta = map(device.to, (q, k, v, beta))
    w, u, o = (
        device.output(k.shape, dtype),
        device.output(v.shape, dtype),
        device.output(v.shape, dtype),
    )
    precision = "ieee" if dtype == "fp32" else None
    delta_prepare_kernel[(triton.cdiv(T, BT), B * H)](
        d_k, d_v, d_beta, w.array, u.array, T, H, K, V, BT, precision
    )
    delta_recurrence_kernel[(B * H,)](
        d_q, d_k, w.array, u.array, o.array, K**-0.5, T, H, K, V, BT, precision
    )
    expected, _ = by_token(q, k, v, K**-0.5, np.zeros((B, H, K, V)), beta=beta)
    close(o.numpy(), expected, dtype)
