"""Loops with dots that compute with what they load, and store other tiles: prefetched loads, and loads once for many rows.

Tiles that no dot reads as they are go through buffers, vectors and numbers are prefetched by one iteration, and rows
that come from one address are loaded once. References are computed in float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def blend(
    A, B, Bias, Scale, Sums, Out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Out += (A @ int8 B) * Bias of the step, scaled by a number and by a row of the step; row sums of each step to Sums."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        at = step * BK + k
        a = tl.load(
            A + m[:, None] * K + at[None, :], mask=(m[:, None] < M) & (at[None, :] < K), other=0.0
        )
        b = tl.load(
            B + at[:, None] * N + n[None, :], mask=(at[:, None] < K) & (n[None, :] < N), other=0
        )
        bias = tl.load(
            Bias + (step * M + m)[:, None] * N + n[None, :],
            mask=(m[:, None] < M) & (n[None, :] < N),
            other=0.0,
        )
        row = tl.load(Scale + step * N + n, mask=n < N, other=0.0)
        last = tl.load(Scale + min(step * N + N, (K + BK - 1) // BK * N) - 1)
        part = tl.dot(a, b.to(tl.float16)) * bias * row[None, :]
        tl.store(Sums + step * M + m, tl.sum(part, 1), mask=m < M)
        acc = acc * last + part
    tl.store(Out + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize(
    "size, warps, stages, options",
    [
        ((64, 64, 256), 4, 3, {}),
        ((50, 48, 200), 4, 2, {}),
        ((33, 64, 130), 1, 3, {}),
        ((64, 56, 64), 8, 4, {}),
        ((16, 16, 96), 8, 2, {}),
        ((64, 64, 192), 4, 3, {"disabled_passes": "nv-specialise-warps"}),
        ((60, 64, 192), 8, 3, {"disabled_passes": "nv-specialise-warps"}),
        ((60, 64, 192), 4, 3, {"disabled_passes": "buffered-values,nv-prefetch-loads"}),
    ],
)
def test_values_of_a_step(device, size, warps, stages, options):
    m, n, k = size
    bm, bn, bk = (max(16, 1 << (x - 1).bit_length()) for x in (m, n, 32))
    steps = -(-k // bk)
    a, bias = random((m, k), "fp16"), random((steps, m, n), "fp16")
    b = np.random.default_rng(3).integers(-20, 20, (k, n)).astype(np.int8)
    scale = np.random.default_rng(4).uniform(0.5, 1, (steps, n)).astype(np.float32)
    sums, out = device.output((steps, m), "fp32"), device.output((m, n), "fp32")
    arrays = [device.to(x) for x in (a, b, bias, scale)]
    blend[(1,)](
        *arrays, sums.array, out.array, m, n, k, bm, bn, bk, num_warps=warps, num_stages=stages, **options
    )  # fmt: skip
    expected, each = np.zeros((m, n)), []
    for step in range(steps):
        at = slice(step * bk, step * bk + bk)
        part = a[:, at].astype(np.float64) @ b[at].astype(np.float64)
        part *= bias[step].astype(np.float64) * scale[step]
        expected = expected * scale[step, -1] + part
        each.append(part.sum(1))
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=2e-2 * np.abs(expected).max())
    np.testing.assert_allclose(sums.numpy(), each, rtol=2e-3, atol=2e-3 * np.abs(each).max())


@triton.jit
def in_place(A, State, Out, n, BLOCK: tl.constexpr):
    """The state is read, multiplied and written in each step: nothing of it may be prefetched."""
    at = tl.arange(0, BLOCK)
    places = at[:, None] * BLOCK + at[None, :]
    for step in range(n):
        a = tl.load(A + step * BLOCK * BLOCK + places)
        state = tl.load(State + places)
        first = tl.load(State)
        state = tl.dot(a, state.to(tl.float16)) * 0.125 + first
        tl.debug_barrier()
        tl.store(State + places, state)
        tl.debug_barrier()
        tl.store(Out + step * BLOCK + at, tl.load(State + at * BLOCK))


def test_state_that_each_step_writes(device):
    block, n = 32, 5
    a, state = random((n, block, block), "fp16"), random((block, block), "fp32")
    held, out = device.to(state.copy()), device.output((n, block), "fp32")
    in_place[(1,)](device.to(a), held, out.array, n, block, num_stages=3)
    now, columns = state.astype(np.float64), []
    for step in range(n):
        rounded = now.astype(np.float16).astype(np.float64)
        now = a[step].astype(np.float64) @ rounded * 0.125 + now[0, 0]
        columns.append(now[:, 0])
    np.testing.assert_allclose(device.numpy(held), now, rtol=1e-2, atol=2e-2)
    np.testing.assert_allclose(out.numpy(), columns, rtol=1e-2, atol=2e-2)


@triton.jit
def nibbles(
    A,
    B,
    Zeros,
    Out,
    M,
    N,
    K,
    MASKED: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """B: (K // 8, N) int32, eight rows a word; Zeros: (K // 32, N)."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    b_ptrs = B + (k // 8)[:, None] * N + n[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for step in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (step + k)[None, :], mask=m[:, None] < M, other=0.0)
        zero_ptrs = Zeros + ((step + k) // 32)[:, None] * N + n[None, :]
        if MASKED:
            inside = (n[None, :] < N) & (step + k < K)[:, None]
            word = tl.load(b_ptrs, mask=inside, other=7)
            zero = tl.load(zero_ptrs, mask=inside, other=7)
        else:
            word = tl.load(b_ptrs)
            zero = tl.load(zero_ptrs)
        b = ((word >> ((k % 8) * 4)[:, None]) & 15) - zero
        acc = tl.dot(a, tl.where(n[None, :] < N, b, 0).to(tl.float16), acc)
        b_ptrs += BK // 8 * N
    tl.store(Out + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize(
    "shape, block, masked, warps",
    [
        ((40, 64, 256), (64, 64, 64), False, 4),
        ((16, 40, 128), (16, 64, 32), True, 4),
        ((16, 128, 192), (16, 128, 64), False, 1),
        ((64, 20, 64), (64, 32, 16), True, 8),
        ((16, 16, 48), (16, 16, 16), False, 2),
    ],
)
def test_rows_of_one_word(device, shape, block, masked, warps):
    m, n, k = shape
    bits = np.random.default_rng(5)
    values = bits.integers(0, 16, (k, n))
    words = sum(values[i::8].astype(np.uint32) << np.uint32(4 * i) for i in range(8)).view(np.int32)
    zeros = bits.integers(0, 16, (-(-k // 32), n)).astype(np.int32)
    a, out = random((m, k), "fp16"), device.output((m, n), "fp32")
    arrays = [device.to(x) for x in (a, words, zeros)]
    nibbles[(1,)](*arrays, out.array, m, n, k, masked, *block, num_warps=warps)
    expected = a.astype(np.float64) @ (values - zeros.repeat(32, 0)[:k])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)


@triton.jit
def scatter_sums(X, Ids, Out, rows, D, BM: tl.constexpr, BD: tl.constexpr):
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    ids = tl.load(Ids + r, mask=r < rows, other=0)
    mask = (r[:, None] < rows) & (d[None, :] < D)
    x = tl.load(X + r[:, None] * D + d[None, :], mask=mask, other=0.0)
    tl.atomic_add(Out + ids[:, None] * D + d[None, :], x, mask=mask, sem="relaxed")


@pytest.mark.parametrize("dtype, tolerance", [("fp32", 1e-5), ("fp16", 4e-3), ("bf16", 3e-2)])
@pytest.mark.parametrize("width, warps", [(64, 4), (60, 4), (7, 2), (8, 8)])
def test_sums_of_neighbours(device, dtype, tolerance, width, warps):
    rows, places = 45, 12
    x = random((rows, width), dtype)
    ids = np.random.default_rng(6).integers(0, places, rows).astype(np.int32)
    start = random((places, width), dtype)
    out = device.to(start.copy())
    block = max(16, 1 << (width - 1).bit_length())
    scatter_sums[(-(-rows // 16),)](
        device.to(x), device.to(ids), out, rows, width, 16, block, num_warps=warps
    )
    expected = start.astype(np.float64)
    np.add.at(expected, ids, x.astype(np.float64))
    got = device.numpy(out).astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=8 * tolerance, atol=8 * tolerance)


@triton.jit
def decayed_sums(X, B, Decay, Out, L, P: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    """Sum over t of decay[t] x[t] outer b[t]: the right operand is computed, so one stage less is enough."""
    p, n = tl.arange(0, P), tl.arange(0, N)
    acc = tl.zeros((P, N), tl.float32)
    for k in range(0, L, BK):
        t = k + tl.arange(0, BK)
        x = tl.load(X + t[None, :] * P + p[:, None], mask=t[None, :] < L, other=0.0)
        b = tl.load(B + t[:, None] * N + n[None, :], mask=t[:, None] < L, other=0.0)
        d = tl.load(Decay + t, mask=t < L, other=0.0)
        acc += tl.dot(x, (b.to(tl.float32) * d[:, None]).to(x.dtype))
    tl.store(Out + p[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("length, stages", [(256, 3), (300, 4), (64, 3), (40, 2)])
def test_one_stage_less(device, length, stages):
    x, b = random((length, 64), "bf16"), random((length, 128), "bf16")
    decay = np.random.default_rng(7).uniform(0, 1, length).astype(np.float32)
    out = device.output((64, 128), "fp32")
    decayed_sums[(1,)](
        *(device.to(a) for a in (x, b, decay)), out.array, length, 64, 128, 64, num_stages=stages
    )
    scaled = b.astype(np.float64) * decay[:, None]
    expected = x.astype(np.float64).T @ scaled
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-2, atol=2e-1)


@triton.jit
def gathered_product(A, Rows, B, Out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Indirect rows of A, so that no tensor map describes them; the MMA overlaps the copies."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    rows = tl.load(Rows + m)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        inside = at + k < K
        a = tl.load(A + rows[:, None] * K + (at + k)[None, :], mask=inside[None, :], other=0.0)
        b = tl.load(B + (at + k)[:, None] * BN + n[None, :], mask=inside[:, None], other=0.0)
        acc += tl.dot(a, b)
    tl.store(Out + m[:, None] * BN + n[None, :], acc)


@pytest.mark.parametrize("depth, stages", [(320, 3), (520, 3), (256, 2), (64, 3)])
def test_stages_of_an_mma_in_flight(device, depth, stages):
    a, b = random((50, depth), "fp16"), random((depth, 128), "fp16")
    rows = np.random.default_rng(8).integers(0, 50, 128).astype(np.int32)
    out = device.output((128, 128), "fp32")
    arrays = [device.to(x) for x in (a, rows, b)]
    gathered_product[(1,)](*arrays, out.array, depth, 128, 128, 64, num_warps=8, num_stages=stages)
    expected = a[rows].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
