"""Flash attention, forward: causal, sliding window, grouped queries, log-sum-exp.

Arrays are (batch, heads, length, head dim) with any strides; lengths of queries and keys differ and
divide no block. Causal masks stand at the lower right corner. fp16 within 2e-3, bf16 within 2e-2,
log-sum-exp within 1e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _attend_blocks(
    acc,
    l_i,
    m_i,
    q,
    k_ptrs,
    v_ptrs,
    stride_kn,
    stride_vn,
    offs_m,
    offs_n,
    lo,
    hi,
    N_CTX,
    shift,
    qk_scale,
    BLOCK_N: tl.constexpr,
    WINDOW: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """One range of key blocks; MASKED is off where every score of the range counts."""
    k_ptrs += lo * stride_kn
    v_ptrs += lo * stride_vn
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        cols = start_n + offs_n
        if MASKED:
            k = tl.load(k_ptrs, mask=cols[None, :] < N_CTX, other=0.0)
        else:
            k = tl.load(k_ptrs)
        qk = tl.dot(q, k) * qk_scale
        if MASKED:
            keep = cols[None, :] < N_CTX
            if CAUSAL:
                keep &= offs_m[:, None] + shift >= cols[None, :]
            if WINDOW > 0:
                keep &= offs_m[:, None] + shift < cols[None, :] + WINDOW
            qk = tl.where(keep, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.math.exp2(qk - m_safe[:, None])
        alpha = tl.math.exp2(m_i - m_safe)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        if MASKED:
            v = tl.load(v_ptrs, mask=cols[:, None] < N_CTX, other=0.0)
        else:
            v = tl.load(v_ptrs)
        acc += tl.dot(p.to(v.dtype), v)
        m_i = m_new
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    return acc, l_i, m_i


@triton.jit
def _flash_forward(
    Q, K, V, Out, Lse,
    sm_scale,
    stride_qz, stride_qh, stride_qm,
    stride_kz, stride_kh, stride_kn,
    stride_vz, stride_vh, stride_vn,
    stride_oz, stride_oh, stride_om,
    H, M_CTX, N_CTX,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    off_kh = off_h // GROUP

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_base = Q + off_z.to(tl.int64) * stride_qz + off_h.to(tl.int64) * stride_qh
    k_base = K + off_z.to(tl.int64) * stride_kz + off_kh.to(tl.int64) * stride_kh
    v_base = V + off_z.to(tl.int64) * stride_vz + off_kh.to(tl.int64) * stride_vh
    o_base = Out + off_z.to(tl.int64) * stride_oz + off_h.to(tl.int64) * stride_oh
    k_ptrs = k_base + offs_n[None, :] * stride_kn + offs_d[:, None]
    v_ptrs = v_base + offs_n[:, None] * stride_vn + offs_d[None, :]

    q = tl.load(
        q_base + offs_m[:, None] * stride_qm + offs_d[None, :],
        mask=offs_m[:, None] < M_CTX,
        other=0.0,
    )
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * LOG2E
    shift = N_CTX - M_CTX

    lo = 0
    hi = N_CTX
    full = N_CTX // BLOCK_N * BLOCK_N
    if CAUSAL:
        hi = tl.minimum(hi, tl.maximum((start_m + 1) * BLOCK_M + shift, 0))
        full = tl.minimum(full, tl.maximum(start_m * BLOCK_M + shift + 1, 0) // BLOCK_N * BLOCK_N)
    if WINDOW > 0:
        lo = tl.maximum(start_m * BLOCK_M + shift - WINDOW + 1, 0) // BLOCK_N * BLOCK_N
        full = lo
    acc, l_i, m_i = _attend_blocks(
        acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, offs_m, offs_n, lo, full, N_CTX,
        shift, qk_scale, BLOCK_N, WINDOW, CAUSAL, False,
    )  # fmt: skip
    acc, l_i, m_i = _attend_blocks(
        acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, offs_m, offs_n, full, hi, N_CTX,
        shift, qk_scale, BLOCK_N, WINDOW, CAUSAL, True,
    )  # fmt: skip

    acc = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    row_ok = offs_m < M_CTX
    tl.store(
        o_base + offs_m[:, None] * stride_om + offs_d[None, :],
        acc.to(Out.dtype.element_ty),
        mask=row_ok[:, None],
    )
    lse = (m_i + tl.math.log2(l_i)) / LOG2E
    tl.store(Lse + off_hz * M_CTX + offs_m, lse, mask=row_ok)


def flash_attention(device, q, k, v, causal, window=0, blocks=(64, 32), num_warps=4, num_stages=2):
    """Queries (Z, H, M, D), keys and values (Z, H / group, N, D); returns the outputs O and LSE."""
    z, h, m, d = q.shape
    n = k.shape[2]
    name = {"float16": "fp16", "bfloat16": "bf16"}[str(q.dtype).removeprefix("torch.")]
    out, lse = device.output((z, h, m, d), name), device.output((z, h, m), "fp32")
    strides = [s for x in (q, k, v, out.array) for s in device.strides(x)[:3]]
    grid = (triton.cdiv(m, blocks[0]), z * h)
    _flash_forward[grid](
        q, k, v, out.array, lse.array, d**-0.5, *strides, h, m, n,
        GROUP=h // k.shape[1], HEAD_DIM=d, BLOCK_M=blocks[0], BLOCK_N=blocks[1],
        CAUSAL=causal, WINDOW=window, num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    return out, lse


def reference(q, k, v, causal, window=0):
    """O and LSE in float64; rows that see nothing give 0 and -inf."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    m, n = q.shape[2], k.shape[2]
    scores = q @ k.swapaxes(2, 3) * q.shape[3] ** -0.5
    rows, cols = np.arange(m)[:, None] + n - m, np.arange(n)[None, :]
    keep = np.ones((m, n), bool)
    if causal:
        keep &= rows >= cols
    if window:
        keep &= rows < cols + window
    scores = np.where(keep, scores, -np.inf)
    best = scores.max(axis=3, keepdims=True)
    best = np.where(np.isinf(best), 0, best)
    p = np.exp(scores - best)
    total = p.sum(axis=3, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (best + np.log(total))[..., 0]
    return p / np.where(total == 0, 1, total) @ v, lse


def check(device, dtype, shape, n, kv_heads, causal, window=0, **options):
    q = random(shape, dtype, 1)
    k, v = (random((shape[0], kv_heads, n, shape[3]), dtype, seed) for seed in (2, 3))
    out, lse = flash_attention(device, *map(device.to, (q, k, v)), causal, window, **options)
    expected, expected_lse = reference(q, k, v, causal, window)
    allowed = 2e-3 if dtype == "fp16" else 2e-2
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=allowed, rtol=allowed)
    np.testing.assert_allclose(lse.numpy(), expected_lse, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_full_and_causal(device, dtype, causal):
    """Attention agrees with float64, with and without a causal mask."""
    m = 1000 if device.on_gpu else 150
    check(device, dtype, (2, 2, m, 64), m, 2, causal)


@pytest.mark.parametrize("causal", [False, True])
def test_wide_heads_in_groups(device, causal):
    m, n = (777, 1234) if device.on_gpu else (70, 131)
    blocks = (128, 64) if device.on_gpu else (64, 32)
    check(device, "fp16", (1, 4, m, 128), n, 1, causal, blocks=blocks, num_warps=8)


@pytest.mark.parametrize("window", [1, 37])
def test_sliding_window(device, window):
    m = 900 if device.on_gpu else 140
    check(device, "bf16", (1, 2, m, 64), m, 1, True, window)


def test_more_queries_than_keys(device):
    check(device, "fp16", (1, 1, 90, 64), 50, 1, True)


def test_transposed_strides(device):
    """Heads next to each other in a row, as a projection leaves them."""
    length = 600 if device.on_gpu else 100
    parts = [random((1, length, 3, 64), "fp16", seed) for seed in (4, 5, 6)]
    views = [device.to(x).swapaxes(1, 2) for x in parts]
    out, _ = flash_attention(device, *views, True)
    expected, _ = reference(*(x.swapaxes(1, 2) for x in parts), True)
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=2e-3, rtol=2e-3)
