"""Loops whose accumulating MMAs overlap the next iteration's first MMAs, with a producer and
without: any number of iterations, also none, of one warp group and of two."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def gradients_kernel(
    k_ptr, v_ptr, q_ptr, g_ptr, shift_ptr, dk_ptr, dv_ptr, begin, end,
    KEYS: tl.constexpr, STEP: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """dv = pᵀ g and dk = (p · (v gᵀ)ᵀ) q for queries `begin` to `end`, with p = k qᵀ - shift."""
    keys = tl.program_id(0) * KEYS + tl.arange(0, KEYS)
    step, features = tl.arange(0, STEP), tl.arange(0, DEPTH)
    own = keys[:, None] * DEPTH + features[None, :]
    k, v = tl.load(k_ptr + own), tl.load(v_ptr + own)
    dk = tl.full((KEYS, DEPTH), 1.0, tl.float32)
    dv = tl.full((KEYS, DEPTH), 2.0, tl.float32)
    for start in range(begin, end, STEP):
        rows = start + step
        q = tl.load(q_ptr + rows[:, None] * DEPTH + features[None, :])
        g = tl.load(g_ptr + rows[:, None] * DEPTH + features[None, :])
        p = tl.dot(k, tl.trans(q)) - tl.load(shift_ptr + rows)[None, :]
        dv = tl.dot(p.to(tl.float16), g, dv)
        ds = p * tl.dot(v, tl.trans(g))
        dk = tl.dot(ds.to(tl.float16), q, dk)
    tl.store(dk_ptr + own, dk)
    tl.store(dv_ptr + own, dv)


PRODUCER = {"disabled_passes": "occupancy-first"}
BY_CP_ASYNC = {"disabled_passes": "nv-specialise-warps"}


@pytest.mark.parametrize("options", [PRODUCER, BY_CP_ASYNC], ids=["producer", "cp.async"])
@pytest.mark.parametrize("keys,step,depth,warps,stages", [(64, 64, 64, 4, 3), (128, 32, 64, 8, 4)])
@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 4, 9])
def test_any_number_of_iterations(device, keys, step, depth, warps, stages, iterations, options):
    """Gradients whose MMAs overlap iterations, from none to nine."""
    length, programs, begin = 12 * step, 2, 2 * step
    k, v = (random((programs * keys, depth), "fp16") / 4 for _ in range(2))
    q, g = (random((length, depth), "fp16") / 4 for _ in range(2))
    shift = random((length,), "fp32")
    dk, dv = (device.output((programs * keys, depth), "fp32") for _ in range(2))
    gradients_kernel[(programs,)](
        *map(device.to, (k, v, q, g, shift)), dk.array, dv.array, begin, begin + iterations * step,
        KEYS=keys, STEP=step, DEPTH=depth, num_warps=warps, num_stages=stages,
        **options,
    )  # fmt: skip
    seen = slice(begin, begin + iterations * step)
    k, v, q, g = (x.astype(np.float64) for x in (k, v, q[seen], g[seen]))
    p = k @ q.T - shift[seen]
    for result, exact in ((dv, 2 + p @ g), (dk, 1 + (p * (v @ g.T)) @ q)):
        size = np.abs(exact).max()
        np.testing.assert_allclose(result.numpy(), exact, rtol=0, atol=2e-3 * size)


@triton.jit
def dependent_kernel(a_ptr, w_ptr, b_ptr, out_ptr, n):
    """Chained dots of an iteration: out = Σ (((a bᵀ) w) b)."""
    at = tl.arange(0, 64)
    square = at[:, None] * 64 + at[None, :]
    a, w = tl.load(a_ptr + square), tl.load(w_ptr + square)
    sums = tl.zeros((64, 64), tl.float32)
    for start in range(0, n, 64):
        rows = (start + at)[:, None]
        b = tl.load(b_ptr + rows * 64 + at[None, :], mask=rows < n, other=0.0)
        p = tl.dot(a, tl.trans(b))
        u = tl.dot(p.to(tl.float16), w) * 0.25
        sums = tl.dot(u.to(tl.float16), b, sums)
    tl.store(out_ptr + square, sums)


@pytest.mark.parametrize("n", [0, 64, 100, 400])
def test_dependent_dots(device, n):
    a, w, b = (random((rows, 64), "fp16", rows) / 4 for rows in (64, 64, max(n, 1)))
    out = device.output((64, 64), "fp32")
    dependent_kernel[(1,)](*map(device.to, (a, w, b)), out.array, n, num_warps=4, num_stages=3)
    a, w, b = (x.astype(np.float64) for x in (a, w, b[:n]))
    padded = np.zeros((-(-n // 64) * 64, 64))
    padded[:n] = b
    blocks = padded.reshape(-1, 64, 64)
    exact = sum(((a @ block.T) @ w @ block / 4 for block in blocks), np.zeros((64, 64)))
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=4e-3 * max(np.abs(exact).max(), 1))
