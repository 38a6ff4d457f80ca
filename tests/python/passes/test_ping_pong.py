"""Ping-pong of warp groups in attention's gradients: consecutive loops, any number of iterations,
and several programs per CTA."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def add_keys(dq, q, g, best, k_ptr, v_ptr, lo, hi, rows, N: tl.constexpr, MASKED: tl.constexpr):
    """What keys `lo` to `hi` add to the gradient of a tile of queries."""
    features = tl.arange(0, 64)
    for start in range(lo, hi, N):
        keys = start + tl.arange(0, N)
        at = keys[None, :] * 64 + features[:, None]
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        p = tl.exp2(tl.dot(q, k) - best[:, None])
        if MASKED:
            p = tl.where(rows[:, None] >= keys[None, :], p, 0.0)
        ds = p * tl.dot(g, v)
        dq = tl.dot(ds.to(tl.float16), tl.trans(k), dq)
    return dq


@triton.jit
def queries_kernel(
    q_ptr, g_ptr, k_ptr, v_ptr, best_ptr, dq_ptr, n, N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """dq = 1 + (2^(q kᵀ - best) · (g vᵀ)) k for 128 queries."""
    first = tl.program_id(0) * 128
    rows, features = first + tl.arange(0, 128), tl.arange(0, 64)
    own = rows[:, None] * 64 + features[None, :]
    q, g = tl.load(q_ptr + own), tl.load(g_ptr + own)
    best = tl.load(best_ptr + rows)
    dq = tl.full((128, 64), 1.0, tl.float32)
    end = n
    if CAUSAL:
        end = first
    dq = add_keys(dq, q, g, best, k_ptr, v_ptr, 0, end, rows, N, False)
    if CAUSAL:
        dq = add_keys(dq, q, g, best, k_ptr, v_ptr, first, first + 128, rows, N, True)
    tl.store(dq_ptr + own, dq)


def check(device, keys, n, programs, causal):
    rows = programs * 128
    q, g = (random((rows, 64), "fp16", seed) / 8 for seed in (1, 2))
    k, v = (random((max(keys, n), 64), "fp16", seed) for seed in (3, 4))
    best = random((rows,), "fp32", 5)
    dq = device.output((rows, 64), "fp32")
    kernel = queries_kernel[(programs,)](
        *map(device.to, (q, g, k, v, best)), dq.array, keys, N=n, CAUSAL=causal, num_warps=8,
        num_stages=3, disabled_passes="occupancy-first",
    )  # fmt: skip
    q, g, k, v, best = (x.astype(np.float64) for x in (q, g, k[:keys], v[:keys], best))
    p = np.exp2(q @ k.T - best[:, None])
    if causal:
        p[np.arange(rows)[:, None] < np.arange(keys)] = 0
    exact = 1 + (p * (g @ v.T)) @ k
    np.testing.assert_allclose(dq.numpy(), exact, rtol=0, atol=4e-3 * np.abs(exact).max())
    if device.arch == 90:
        assert "barrier.cta.arrive.aligned %r" in kernel.asm["ptx"]


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 6])
def test_any_number_of_iterations(device, blocks):
    """Gradients in ping-pong, from none to six tiles of queries."""
    check(device, blocks * 64, 64, programs=2, causal=False)


def test_programs_that_follow_each_other(device):
    check(device, 192, 64, programs=7, causal=False)


@pytest.mark.parametrize("n", [32, 64])
def test_two_loops(device, n):
    check(device, 384, n, programs=3, causal=True)
