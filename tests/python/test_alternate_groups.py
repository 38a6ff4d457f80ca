"""Groups of warps that start the products of attention in turn: any number of iterations, also
none, one loop behind the other, and programs that follow each other in a block."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

IN_TURN = {"enabled_passes": "nv-alternate-groups", "disabled_passes": "nv-keep-occupancy"}


@triton.jit
def attend(acc, total, best, q, k_ptr, v_ptr, lo, hi, rows, N: tl.constexpr, D: tl.constexpr,
           MASKED: tl.constexpr):  # fmt: skip
    """Keys `lo` to `hi` of the online softmax to the base 2."""
    features = tl.arange(0, D)
    for start in range(lo, hi, N):
        at = start + tl.arange(0, N)
        k = tl.load(k_ptr + at[None, :] * D + features[:, None])
        scores = tl.dot(q, k)
        if MASKED:
            scores = tl.where(rows[:, None] >= at[None, :], scores, -1e6)
        higher = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        decay = tl.exp2(best - higher)
        total = total * decay + tl.sum(p, 1)
        v = tl.load(v_ptr + at[:, None] * D + features[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * decay[:, None])
        best = higher
    return acc, total, best


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """out = (Σ 2^s v, Σ 2^s, largest s), the first two relative to the largest."""
    first = tl.program_id(0) * M
    rows, features = first + tl.arange(0, M), tl.arange(0, D)
    at = rows[:, None] * D + features[None, :]
    q = tl.load(q_ptr + at)
    acc = tl.full((M, D), 1.0, tl.float32)
    total = tl.full((M,), 1.0, tl.float32)
    best = tl.zeros((M,), tl.float32)
    end = n
    if CAUSAL:
        end = first
    acc, total, best = attend(acc, total, best, q, k_ptr, v_ptr, 0, end, rows, N, D, False)
    if CAUSAL:
        acc, total, best = attend(
            acc, total, best, q, k_ptr, v_ptr, first, first + M, rows, N, D, True
        )
    tl.store(out_ptr + at, acc / total[:, None])


def reference(q, k, v, causal):
    """In float64, with one more key of score 0 and value 1."""
    s = q @ k.T
    if causal:
        s[np.arange(len(q))[:, None] < np.arange(len(k))] = -np.inf
    s = np.concatenate([np.zeros((len(q), 1)), s], axis=1)
    p = np.exp2(s - s.max(1, keepdims=True))
    values = np.concatenate([np.ones((1, v.shape[1])), v])
    return p @ values / p.sum(1, keepdims=True)


def check(device, m, n, d, keys, programs, causal):
    q = random((programs * m, d), "fp16") / 8
    k, v = (random((max(keys, n), d), "fp16") for _ in range(2))
    out = device.output((programs * m, d), "fp32")
    kernel = attention_kernel[(programs,)](
        *map(device.to, (q, k, v)), out.array, keys, M=m, N=n, D=d, CAUSAL=causal, num_warps=8,
        num_stages=2, **IN_TURN,
    )  # fmt: skip
    exact = reference(*(x.astype(np.float64) for x in (q, k[:keys], v[:keys])), causal)
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=4e-3 * np.abs(exact).max())
    return kernel


@pytest.mark.parametrize("m,n,d", [(128, 64, 64), (128, 128, 64), (128, 64, 128)])
@pytest.mark.parametrize("blocks", [0, 1, 2, 5])
def test_any_number_of_iterations(device, m, n, d, blocks):
    check(device, m, n, d, blocks * n, programs=2, causal=False)


def test_programs_that_follow_each_other(device):
    check(device, 128, 64, 64, 192, programs=7, causal=False)


@pytest.mark.parametrize("n", [64, 128])
def test_two_loops(device, n):
    check(device, 128, n, 64, 384, programs=3, causal=True)
