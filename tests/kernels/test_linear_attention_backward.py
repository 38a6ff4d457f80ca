"""Gradients of linear attention in chunks with decay, against gradients token by token.

Forward: o_t = scale q_t S_t, S_t = exp(g_t) S_(t-1) + k_t v_t, as `fused_chunk_kernel` has it in
test_linear_attention.py; (B, T, H, K or V), g (B, T, H). One kernel walks chunks forward and keeps
the state, of which dQ = S dO. The other walks them backward and keeps the gradient of the state,
D_t = exp(g_(t+1)) D_(t+1) + scale q_t dO_t, of which dK = D v and dV = k D.

Bounds are in terms of |dx|, the gradients for the magnitudes of all inputs: 2^-16 |dx| for sums,
cumulated decay and exp in fp32. In bf16 at most two intermediate values of each term are rounded
(the scores, or a decayed operand and the state), by 2^-8 each, and then the gradient itself.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def linear_attention_dq_kernel(
    k, v, do, g, dq, scale, T,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """`BK` columns of dQ; the state is kept transposed, (V, BK)."""
    i_k, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    k += (i_b * T * H + i_h) * K
    v += (i_b * T * H + i_h) * V
    do += (i_b * T * H + i_h) * V
    dq += (i_b * T * H + i_h) * K
    o_i = tl.arange(0, BT)
    m_s = o_i[:, None] >= o_i[None, :]
    b_h = tl.zeros([V, BK], dtype=tl.float32)
    for i_t in range(0, tl.cdiv(T, BT)):
        p_k = tl.make_block_ptr(k, (T, K), (H * K, 1), (i_t * BT, i_k * BK), (BT, BK), (1, 0))
        p_v = tl.make_block_ptr(v, (V, T), (1, H * V), (0, i_t * BT), (V, BT), (0, 1))
        p_do = tl.make_block_ptr(do, (T, V), (H * V, 1), (i_t * BT, 0), (BT, V), (1, 0))
        p_dq = tl.make_block_ptr(dq, (T, K), (H * K, 1), (i_t * BT, i_k * BK), (BT, BK), (1, 0))
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_v = tl.load(p_v, boundary_check=(0, 1))
        b_do = tl.load(p_do, boundary_check=(0, 1))
        t = i_t * BT + o_i
        b_g = tl.cumsum(tl.load(g + (i_b * T + t) * H + i_h, mask=t < T, other=0.0), axis=0)
        b_g_last = tl.sum(tl.where(o_i == BT - 1, b_g, 0.0), 0)
        b_s = tl.dot(b_do, b_v, input_precision=PRECISION)
        b_s = tl.where(m_s, b_s * tl.exp(b_g[:, None] - b_g[None, :]), 0.0)
        b_dq = tl.dot(b_s.to(b_k.dtype), b_k, input_precision=PRECISION)
        b_dq += tl.dot(b_do, b_h.to(b_do.dtype), input_precision=PRECISION) * tl.exp(b_g)[:, None]
        tl.store(p_dq, (b_dq * scale).to(p_dq.dtype.element_ty), boundary_check=(0, 1))
        b_k = (b_k * tl.exp(b_g_last - b_g)[:, None]).to(b_k.dtype)
        b_h = b_h * tl.exp(b_g_last) + tl.dot(b_v, b_k, input_precision=PRECISION)


@triton.jit
def linear_attention_dkv_kernel(
    q, k, v, do, g, dk, dv, scale, T,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dK and dV of one head, the last chunk first; the gradient of the state is (K, V)."""
    i_bh = tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    q += (i_b * T * H + i_h) * K
    k += (i_b * T * H + i_h) * K
    v += (i_b * T * H + i_h) * V
    do += (i_b * T * H + i_h) * V
    dk += (i_b * T * H + i_h) * K
    dv += (i_b * T * H + i_h) * V
    o_i = tl.arange(0, BT)
    m_s = o_i[:, None] <= o_i[None, :]
    b_dh = tl.zeros([K, V], dtype=tl.float32)
    chunks = tl.cdiv(T, BT)
    for i in range(0, chunks):
        i_t = chunks - 1 - i
        p_q = tl.make_block_ptr(q, (K, T), (1, H * K), (0, i_t * BT), (K, BT), (0, 1))
        p_k = tl.make_block_ptr(k, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
        p_v = tl.make_block_ptr(v, (T, V), (H * V, 1), (i_t * BT, 0), (BT, V), (1, 0))
        p_do = tl.make_block_ptr(do, (T, V), (H * V, 1), (i_t * BT, 0), (BT, V), (1, 0))
        p_dk = tl.make_block_ptr(dk, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
        p_dv = tl.make_block_ptr(dv, (T, V), (H * V, 1), (i_t * BT, 0), (BT, V), (1, 0))
        b_q = tl.load(p_q, boundary_check=(0, 1))
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_v = tl.load(p_v, boundary_check=(0, 1))
        b_do = tl.load(p_do, boundary_check=(0, 1))
        t = i_t * BT + o_i
        b_g = tl.cumsum(tl.load(g + (i_b * T + t) * H + i_h, mask=t < T, other=0.0), axis=0)
        b_g_last = tl.sum(tl.where(o_i == BT - 1, b_g, 0.0), 0)
        # Rows are keys and columns the queries that come no earlier.
        decay = tl.where(m_s, tl.exp(b_g[None, :] - b_g[:, None]), 0.0)
        to_end = tl.exp(b_g_last - b_g)[:, None]
        b_state = b_dh.to(b_q.dtype)
        b_s = tl.dot(b_v, tl.trans(b_do), input_precision=PRECISION) * decay
        b_dk = tl.dot(b_s.to(b_q.dtype), tl.trans(b_q), input_precision=PRECISION)
        b_dk += tl.dot(b_v, tl.trans(b_state), input_precision=PRECISION) * to_end
        tl.store(p_dk, (b_dk * scale).to(p_dk.dtype.element_ty), boundary_check=(0, 1))
        b_s = tl.dot(b_k, b_q, input_precision=PRECISION) * decay
        b_dv = tl.dot(b_s.to(b_do.dtype), b_do, input_precision=PRECISION)
        b_dv += tl.dot(b_k, b_state, input_precision=PRECISION) * to_end
        tl.store(p_dv, (b_dv * scale).to(p_dv.dtype.element_ty), boundary_check=(0, 1))
        b_do = (b_do * tl.exp(b_g)[:, None]).to(b_do.dtype)
        b_dh = b_dh * tl.exp(b_g_last) + tl.dot(b_q, b_do, input_precision=PRECISION)


def by_token(q, k, v, do, g, scale):
    """dQ, dK and dV in float64, by the recurrences of the state and of its gradient."""
    q, k, v, do, g = (x.astype(np.float64) for x in (q, k, v, do, g))
    dq, dk, dv = (np.empty(x.shape) for x in (q, k, v))
    state = np.zeros((q.shape[0], *q.shape[2:], v.shape[3]))
    for t in range(q.shape[1]):
        state = state * np.exp(g[:, t])[..., None, None]
        state = state + np.einsum("bhk,bhv->bhkv", k[:, t], v[:, t])
        dq[:, t] = scale * np.einsum("bhkv,bhv->bhk", state, do[:, t])
    state[:] = 0
    for t in reversed(range(q.shape[1])):
        state = state + scale * np.einsum("bhk,bhv->bhkv", q[:, t], do[:, t])
        dk[:, t] = np.einsum("bhkv,bhv->bhk", state, v[:, t])
        dv[:, t] = np.einsum("bhkv,bhk->bhv", state, k[:, t])
        state = state * np.exp(g[:, t])[..., None, None]
    return dq, dk, dv


def check(result, expected, size):
    """Compare with float64; the docstring of the file has the bounds."""
    allowed = 2.0**-16 * size
    if result.dtype == ml_dtypes.bfloat16:
        allowed += 2.0**-7 * size + 2.0**-8 * np.abs(expected)
    assert (np.abs(result.astype(np.float64) - expected) <= allowed).all()


@pytest.mark.parametrize(
    "dtype, K, V, BT, BK, warps, stages",
    [
        ("fp32", 32, 32, 16, 16, 4, 2),
        ("bf16", 64, 32, 32, 32, 4, 2),
        ("bf16", 64, 128, 64, 64, 8, 3),
        ("bf16", 128, 128, 64, 64, 8, 2),
        ("fp32", 16, 64, 32, 16, 2, 1),
    ],
)
@pytest.mark.parametrize("shape", [(1, 77, 2), (2, 32, 1)])
@pytest.mark.parametrize("without", [None, "producer-past-stores"])
def test_gradients(device, shape, dtype, K, V, BT, BK, warps, stages, without):
    """Gradients by chunks are those of the recurrence token by token."""
    B, T, H = (2, 5 * shape[1], 4) if device.on_gpu else shape
    q, k = (random((B, T, H, K), dtype, seed) for seed in (1, 2))
    v, do = (random((B, T, H, V), dtype, seed) for seed in (3, 4))
    g = np.log(1 / (1 + np.exp(-random((B, T, H), "fp32", 5) - 2)))
    scale, precision = K**-0.5, "ieee" if dtype == "fp32" else None
    d_q, d_k, d_v, d_do, d_g = map(device.to, (q, k, v, do, g))
    dq, dk, dv = (device.output(x.shape, dtype) for x in (q, k, v))
    linear_attention_dq_kernel[(K // BK, B * H)](
        d_k, d_v, d_do, d_g, dq.array, scale, T, H=H, K=K, V=V, BT=BT, BK=BK, PRECISION=precision,
        num_warps=warps, num_stages=stages, disabled_passes=without,
    )  # fmt: skip
    linear_attention_dkv_kernel[(1, B * H)](
        d_q, d_k, d_v, d_do, d_g, dk.array, dv.array, scale, T, H=H, K=K, V=V, BT=BT,
        PRECISION=precision, num_warps=warps, num_stages=stages, disabled_passes=without,
    )  # fmt: skip
    expected = by_token(q, k, v, do, g, scale)
    sizes = by_token(*map(np.abs, (q, k, v, do)), g, scale)
    for output, gradient, size in zip((dq, dk, dv), expected, sizes):
        check(output.numpy(), gradient, size)
