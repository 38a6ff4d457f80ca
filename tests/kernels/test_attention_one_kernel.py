"""The gradients of attention in one kernel: programs of keys add to the gradient of queries by
relaxed atomics, which TMA does on Hopper, and a producer loads past them."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def collect(
    dk, dv, k, v, q_ptrs, g_ptrs, sum_ptrs, lse_ptr, delta_ptr, keys, queries, scale2, begin, end,
    DEPTH: tl.constexpr, M: tl.constexpr, MASKED: tl.constexpr, KEYS_LAST: tl.constexpr,
):  # fmt: skip
    """With KEYS_LAST the sums of queries are stored while the last dot for keys runs."""
    for start in range(begin, end, M):
        q, g = tl.load(q_ptrs + start * DEPTH), tl.load(g_ptrs + start * DEPTH)
        scores, slopes = tl.dot(k, tl.trans(q)), tl.dot(v, tl.trans(g))
        p = tl.exp2(scores * scale2 - tl.load(lse_ptr + start + queries)[None, :])
        if MASKED:
            p = tl.where(start + queries[None, :] >= keys[:, None], p, 0.0)
        dv = tl.dot(p.to(g.dtype), g, dv)
        ds = (p * (slopes - tl.load(delta_ptr + start + queries)[None, :])).to(q.dtype)
        if KEYS_LAST:
            dq = tl.dot(tl.trans(ds), k)
            dk = tl.dot(ds, q, dk)
        else:
            dk = tl.dot(ds, q, dk)
            dq = tl.dot(tl.trans(ds), k)
        tl.atomic_add(sum_ptrs + start * DEPTH, dq, sem="relaxed")
    return dk, dv


@triton.jit
def gradients_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, lse_ptr, delta_ptr, sum_ptr, dk_ptr, dv_ptr, length, scale,
    CAUSAL: tl.constexpr, DEPTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    KEYS_LAST: tl.constexpr = True,
):  # fmt: skip
    """Rows of DEPTH one after another, heads too; `lse` to the base 2; without the scale in dq."""
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * DEPTH
    first = tl.program_id(0) * N
    keys, queries, depth = first + tl.arange(0, N), tl.arange(0, M), tl.arange(0, DEPTH)
    rows = base + queries[:, None] * DEPTH + depth[None, :]
    own = base + keys[:, None] * DEPTH + depth[None, :]
    k, v = tl.load(k_ptr + own), tl.load(v_ptr + own)
    dk, dv = tl.zeros([N, DEPTH], tl.float32), tl.zeros([N, DEPTH], tl.float32)
    scale2 = scale * 1.4426950408889634
    lse_ptr += head * length
    delta_ptr += head * length
    complete = 0
    if CAUSAL:
        complete = first + N
        dk, dv = collect(
            dk, dv, k, v, q_ptr + rows, g_ptr + rows, sum_ptr + rows, lse_ptr, delta_ptr, keys,
            queries, scale2, first, complete, DEPTH, M, True, KEYS_LAST,
        )  # fmt: skip
    dk, dv = collect(
        dk, dv, k, v, q_ptr + rows, g_ptr + rows, sum_ptr + rows, lse_ptr, delta_ptr, keys,
        queries, scale2, complete, length, DEPTH, M, False, KEYS_LAST,
    )  # fmt: skip
    tl.store(dv_ptr + own, dv)
    tl.store(dk_ptr + own, dk * scale)


@pytest.mark.parametrize("keys_last", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "depth, m, n, warps, stages",
    [
        (64, 64, 64, 4, 2),
        (64, 64, 128, 8, 3),
        pytest.param(64, 128, 128, 8, 2, marks=pytest.mark.too_large_for("sm_80")),
        pytest.param(128, 64, 128, 8, 2, marks=pytest.mark.too_large_for("sm_80")),
        pytest.param(128, 64, 128, 8, 3, marks=pytest.mark.too_large_for("sm_80")),
        (64, 32, 128, 4, 3),
    ],
)
def test_gradients(device, depth, m, n, warps, stages, causal, keys_last):
    """One kernel gives the gradients of queries, keys and values."""
    heads, length, scale = 2, 256, depth**-0.5
    q, k, v, g = (random((heads, length, depth), "fp16", seed) for seed in range(4))
    wide = [x.astype(np.float64) for x in (q, k, v, g)]
    scores = scale * wide[0] @ wide[1].swapaxes(1, 2)
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    lse = np.log2(np.exp(scores).sum(2))
    p = np.exp(scores) / np.exp2(lse)[..., None]
    dp = wide[3] @ wide[2].swapaxes(1, 2)
    delta = (p * dp).sum(2)
    ds = p * (dp - delta[..., None])
    total = device.to(np.zeros((heads, length, depth), np.float32))
    dk, dv = (device.output((heads, length, depth), "fp32") for _ in range(2))
    gradients_kernel[(length // n, heads)](
        *map(device.to, (q, k, v, g, lse.astype(np.float32), delta.astype(np.float32))), total,
        dk.array, dv.array, length, scale, CAUSAL=causal, DEPTH=depth, M=m, N=n, KEYS_LAST=keys_last,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    exact = (ds @ wide[1], scale * ds.swapaxes(1, 2) @ wide[0], p.swapaxes(1, 2) @ wide[3])
    for ours, right in zip((device.numpy(total), dk.numpy(), dv.numpy()), exact):
        np.testing.assert_allclose(ours, right, rtol=0, atol=4e-3 * np.abs(right).max())
