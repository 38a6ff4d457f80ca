"""Attention with bias and dropout, and its backward pass in one kernel that adds dQ by atomics.

The dropout mask is drawn from the position in the score matrix in both passes, transposed in the
second; the reference draws it by Philox as well. The bias is (heads, queries, keys) or (heads, 1,
keys). fp32 dots in IEEE, within 1e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from test_dropout import philox, uniform


@triton.jit
def _keep(seed, head, rows, cols, N, p):
    """The mask of one tile: the counter is the place of the score."""
    return tl.rand(seed, (head * N + rows) * N + cols) > p


@triton.jit
def forward_kernel(
    Q, K, V, Bias, Out, Lse, scale, p, seed, N, stride_bh, stride_bm,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    base = head * N * D
    q = tl.load(Q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < N, other=0.0)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        inside = (rows < N)[:, None] & (cols < N)[None, :]
        k = tl.load(K + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < N, other=0.0)
        s = tl.dot(q, k.T, input_precision="ieee") * scale
        at = head * stride_bh + rows[:, None] * stride_bm + cols[None, :]
        s += tl.load(Bias + at, mask=inside, other=0.0)
        s = tl.where((cols < N)[None, :], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        e = tl.exp(s - m_new[:, None])
        decay = tl.exp(m - m_new)
        total = total * decay + tl.sum(e, 1)
        if DROPOUT:
            e = tl.where(_keep(seed, head, rows[:, None], cols[None, :], N, p), e / (1 - p), 0.0)
        v = tl.load(V + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < N, other=0.0)
        acc = acc * decay[:, None] + tl.dot(e, v, input_precision="ieee")
        m = m_new
    ok = rows < N
    tl.store(Out + base + rows[:, None] * D + d[None, :], acc / total[:, None], mask=ok[:, None])
    tl.store(Lse + head * N + rows, m + tl.log(total), mask=ok)


@triton.jit
def backward_kernel(
    Q, K, V, Bias, Out, DO, Lse, DQ, DK, DV, DBias, scale, p, seed, N, stride_bh, stride_bm,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """A block of keys meets all queries; dQ and the bias' gradient are sums over programs."""
    head = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    base = head * N * D
    kv_at = base + cols[:, None] * D + d[None, :]
    k = tl.load(K + kv_at, mask=cols[:, None] < N, other=0.0)
    v = tl.load(V + kv_at, mask=cols[:, None] < N, other=0.0)
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    for start in range(0, N, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        ok = (rows < N)[:, None]
        at = base + rows[:, None] * D + d[None, :]
        q = tl.load(Q + at, mask=ok, other=0.0)
        do = tl.load(DO + at, mask=ok, other=0.0)
        delta = tl.sum(do * tl.load(Out + at, mask=ok, other=0.0), 1)
        lse = tl.load(Lse + head * N + rows, mask=rows < N, other=0.0)
        inside = (cols < N)[:, None] & (rows < N)[None, :]
        bias_at = head * stride_bh + rows[None, :] * stride_bm + cols[:, None]
        s = tl.dot(k, q.T, input_precision="ieee") * scale
        s += tl.load(Bias + bias_at, mask=inside, other=0.0)
        prob = tl.where(inside, tl.exp(s - lse[None, :]), 0.0)
        dp = tl.dot(v, do.T, input_precision="ieee")
        dropped = prob
        if DROPOUT:
            keep = _keep(seed, head, rows[None, :], cols[:, None], N, p)
            dropped = tl.where(keep, prob / (1 - p), 0.0)
            dp = tl.where(keep, dp / (1 - p), 0.0)
        dv = tl.dot(dropped, do, dv, input_precision="ieee")
        ds = prob * (dp - delta[None, :])
        dk += tl.dot(ds, q, input_precision="ieee")
        tl.atomic_add(DBias + bias_at, ds, mask=inside, sem="relaxed")
        dq = tl.dot(ds.T, k, input_precision="ieee") * scale
        tl.atomic_add(DQ + at, dq, mask=ok, sem="relaxed")
    tl.store(DK + kv_at, dk * scale, mask=cols[:, None] < N)
    tl.store(DV + kv_at, dv, mask=cols[:, None] < N)


def reference(q, k, v, bias, do, keep, p):
    """O, and the gradients of Q, K, V and the full bias, in float64."""
    q, k, v, do = (x.astype(np.float64) for x in (q, k, v, do))
    scale = q.shape[2] ** -0.5
    s = q @ k.swapaxes(1, 2) * scale + bias
    prob = np.exp(s - s.max(axis=2, keepdims=True))
    prob /= prob.sum(axis=2, keepdims=True)
    dropped = np.where(keep, prob / (1 - p), 0)
    dp = np.where(keep, do @ v.swapaxes(1, 2) / (1 - p), 0)
    ds = prob * (dp - (prob * dp).sum(axis=2, keepdims=True))
    dk, dv = ds.swapaxes(1, 2) @ q * scale, dropped.swapaxes(1, 2) @ do
    return dropped @ v, ds @ k * scale, dk, dv, ds


@pytest.mark.parametrize("p", [0.0, 0.25])
@pytest.mark.parametrize("rows_of_bias", ["all", "one"])
def test_forward_and_backward(device, rows_of_bias, p):
    heads, n, dim = (4, 330, 64) if device.on_gpu else (2, 45, 32)
    q, k, v, do = (random((heads, n, dim), "fp32", seed) for seed in (1, 2, 3, 4))
    bias = random((heads, n if rows_of_bias == "all" else 1, n), "fp32", 5)
    strides = (bias.shape[1] * n, n if rows_of_bias == "all" else 0)
    keep = np.ones((heads, n, n), bool)
    if p:
        keep = (uniform(philox(77, np.arange(heads * n * n))[0]) > np.float32(p)).reshape(
            keep.shape
        )
    expected = reference(q, k, v, bias, do, keep, p)
    out, lse = device.output(q.shape, "fp32"), device.output((heads, n), "fp32")
    dk, dv = device.output(q.shape, "fp32"), device.output(q.shape, "fp32")
    dq, dbias = device.to(np.zeros_like(q)), device.to(np.zeros_like(bias))
    d_q, d_k, d_v, d_bias, d_do = map(device.to, (q, k, v, bias, do))
    grid = (triton.cdiv(n, 32), heads)
    options = {"D": dim, "BLOCK_M": 32, "BLOCK_N": 32, "DROPOUT": p > 0, "num_stages": 2}
    forward_kernel[grid](
        d_q, d_k, d_v, d_bias, out.array, lse.array, dim**-0.5, p, 77, n, *strides, **options
    )
    backward_kernel[grid](
        d_q, d_k, d_v, d_bias, out.array, d_do, lse.array, dq, dk.array, dv.array, dbias,
        dim**-0.5, p, 77, n, *strides, **options,
    )  # fmt: skip
    if rows_of_bias == "one":
        expected = (*expected[:4], expected[4].sum(axis=1, keepdims=True))
    results = [out.numpy(), device.numpy(dq), dk.numpy(), dv.numpy(), device.numpy(dbias)]
    for result, wanted in zip(results, expected):
        np.testing.assert_allclose(result, wanted, atol=1e-3, rtol=1e-3)
