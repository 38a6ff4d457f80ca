"""Attention backward in three kernels: sums of O dO, then dK and dV by keys, then dQ by queries.

Forward results come from NumPy in float64. Arrays are (batch * heads, length, head dim); lengths
divide no block. Gradients of fp16 within 5e-3 of the largest, of bf16 within 4e-2.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _load_rows(base, rows, offs_d, stride, count):
    return tl.load(
        base + rows[:, None] * stride + offs_d[None, :], mask=(rows < count)[:, None], other=0.0
    )


@triton.jit
def _backward_preprocess(O, DO, Delta, N_CTX, BLOCK_M: tl.constexpr, HEAD_DIM: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    base = tl.program_id(1).to(tl.int64) * N_CTX * HEAD_DIM
    o = _load_rows(O + base, rows, offs_d, HEAD_DIM, N_CTX).to(tl.float32)
    do = _load_rows(DO + base, rows, offs_d, HEAD_DIM, N_CTX).to(tl.float32)
    delta = tl.sum(o * do, axis=1)
    tl.store(Delta + tl.program_id(1) * N_CTX + rows, delta, mask=rows < N_CTX)


@triton.jit
def _backward_dkdv(
    Q, K, V, DO, Lse, Delta, DK, DV, sm_scale, N_CTX,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    RCP_LN2: tl.constexpr = 1.4426950408889634
    head = tl.program_id(1)
    base = head.to(tl.int64) * N_CTX * HEAD_DIM
    start_n = tl.program_id(0) * BLOCK_N
    cols = start_n + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    k = _load_rows(K + base, cols, offs_d, HEAD_DIM, N_CTX)
    v = _load_rows(V + base, cols, offs_d, HEAD_DIM, N_CTX)
    dk = tl.zeros([BLOCK_N, HEAD_DIM], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, HEAD_DIM], dtype=tl.float32)
    first = start_n // BLOCK_M * BLOCK_M if CAUSAL else 0
    for start_m in range(first, N_CTX, BLOCK_M):
        rows = start_m + tl.arange(0, BLOCK_M)
        inside = rows < N_CTX
        qT = tl.load(
            Q + base + rows[None, :] * HEAD_DIM + offs_d[:, None], mask=inside[None, :], other=0.0
        )
        lse = tl.load(Lse + head * N_CTX + rows, mask=inside, other=0.0)
        sT = tl.dot(k, qT) * sm_scale
        pT = tl.math.exp2((sT - lse[None, :]) * RCP_LN2)
        keep = inside[None, :] & (cols < N_CTX)[:, None]
        if CAUSAL:
            keep = keep & (rows[None, :] >= cols[:, None])
        pT = tl.where(keep, pT, 0.0)
        do = _load_rows(DO + base, rows, offs_d, HEAD_DIM, N_CTX)
        dv += tl.dot(pT.to(do.dtype), do)
        delta = tl.load(Delta + head * N_CTX + rows, mask=inside, other=0.0)
        dpT = tl.dot(v, tl.trans(do)).to(tl.float32)
        dsT = (pT * (dpT - delta[None, :])).to(qT.dtype)
        dk += tl.dot(dsT, tl.trans(qT))
    offsets = base + cols[:, None] * HEAD_DIM + offs_d[None, :]
    ok = (cols < N_CTX)[:, None]
    tl.store(DV + offsets, dv.to(DV.dtype.element_ty), mask=ok)
    tl.store(DK + offsets, (dk * sm_scale).to(DK.dtype.element_ty), mask=ok)


@triton.jit
def _backward_dq(
    Q, K, V, DO, Lse, Delta, DQ, sm_scale, N_CTX,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    base = head.to(tl.int64) * N_CTX * HEAD_DIM
    start_m = tl.program_id(0) * BLOCK_M
    rows = start_m + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    q = _load_rows(Q + base, rows, offs_d, HEAD_DIM, N_CTX)
    do = _load_rows(DO + base, rows, offs_d, HEAD_DIM, N_CTX)
    lse = tl.load(Lse + head * N_CTX + rows, mask=rows < N_CTX, other=0.0)[:, None]
    delta = tl.load(Delta + head * N_CTX + rows, mask=rows < N_CTX, other=0.0)[:, None]
    dq = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    end = min(start_m + BLOCK_M, N_CTX) if CAUSAL else N_CTX
    for start_n in range(0, end, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N)
        k = _load_rows(K + base, cols, offs_d, HEAD_DIM, N_CTX)
        v = _load_rows(V + base, cols, offs_d, HEAD_DIM, N_CTX)
        p = tl.exp(tl.dot(q, k.T) * sm_scale - lse)
        keep = (cols < N_CTX)[None, :]
        if CAUSAL:
            keep = keep & (rows[:, None] >= cols[None, :])
        p = tl.where(keep, p, 0.0)
        ds = p * (tl.dot(do, v.T) - delta)
        dq = tl.dot(ds.to(k.dtype), k, acc=dq)
    tl.store(
        DQ + base + rows[:, None] * HEAD_DIM + offs_d[None, :],
        (dq * sm_scale).to(DQ.dtype.element_ty),
        mask=(rows < N_CTX)[:, None],
    )


def forward(q, k, v, scale, causal):
    """O, LSE and the probabilities, in float64."""
    s = q @ k.swapaxes(1, 2) * scale
    if causal:
        s = np.where(np.tri(s.shape[1], dtype=bool), s, -np.inf)
    best = s.max(axis=2, keepdims=True)
    lse = best + np.log(np.exp(s - best).sum(axis=2, keepdims=True))
    p = np.exp(s - lse)
    return p @ v, lse[..., 0], p


def backward(q, k, v, do, scale, causal):
    o, _, p = forward(q, k, v, scale, causal)
    ds = p * (do @ v.swapaxes(1, 2) - (o * do).sum(axis=2, keepdims=True))
    return ds @ k * scale, ds.swapaxes(1, 2) @ q * scale, p.swapaxes(1, 2) @ do


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "dtype, head_dim, blocks", [("fp16", 64, (32, 64)), ("bf16", 128, (64, 32))]
)
def test_gradients(device, dtype, head_dim, blocks, causal):
    """dQ, dK and dV are the gradients of attention in float64."""
    length = 700 if device.on_gpu else 110
    heads, scale = 2, head_dim**-0.5
    q, k, v, do = (random((heads, length, head_dim), dtype, seed) for seed in range(1, 5))
    wide = [x.astype(np.float64) for x in (q, k, v, do)]
    o, lse, _ = forward(*wide[:3], scale, causal)
    dq, dk, dv = (device.output(q.shape, dtype) for _ in range(3))
    delta = device.output((heads, length), "fp32")
    d_q, d_k, d_v, d_do, d_o = map(device.to, (q, k, v, do, o.astype(q.dtype)))
    d_lse = device.to(lse.astype(np.float32))
    _backward_preprocess[(triton.cdiv(length, 64), heads)](
        d_o, d_do, delta.array, length, BLOCK_M=64, HEAD_DIM=head_dim
    )
    inputs = (d_q, d_k, d_v, d_do, d_lse, delta.array)
    block_m, block_n = blocks
    _backward_dkdv[(triton.cdiv(length, block_n), heads)](
        *inputs, dk.array, dv.array, scale, length, block_m, block_n, head_dim, causal
    )
    _backward_dq[(triton.cdiv(length, block_m), heads)](
        *inputs, dq.array, scale, length, block_m, block_n, head_dim, causal, num_stages=2
    )
    for result, expected in zip((dq, dk, dv), backward(*wide, scale, causal)):
        allowed = (5e-3 if dtype == "fp16" else 4e-2) * np.abs(expected).max()
        np.testing.assert_allclose(
            result.numpy().astype(np.float64), expected, atol=allowed, rtol=0
        )
