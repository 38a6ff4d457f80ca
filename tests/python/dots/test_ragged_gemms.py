"""GEMMs with data-dependent rows, ends or matrices: consecutive groups, an expert for each tile, sequences of any length."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

BLOCK = (64, 64, 32)


@triton.jit
def grouped(a, b, c, starts, M, N, K, sam, sbg, sbk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Group g has the rows from starts[g] to starts[g + 1], and a matrix of its own."""
    g = tl.program_id(2)
    start = tl.load(starts + g)
    end = tl.load(starts + g + 1)
    rows = start + tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * sam + deep[None, :], mask=(rows[:, None] < end) & (deep[None, :] < K), other=0.0)  # fmt: skip
        y = tl.load(b + g * sbg + deep[:, None] * sbk + cols[None, :], mask=(deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < end) & (cols[None, :] < N))  # fmt: skip


@triton.jit
def grouped_sums(a, b, c, starts, M, N, K, sam, sbg, sbk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """The same with an early return, sizes, 64 bits, pointers that go on; and rows beyond the end must be zeros: they are added up."""
    g = tl.program_id(2)
    start = tl.load(starts + g).to(tl.int64)
    size = tl.load(starts + g + 1) - start
    first = tl.program_id(0) * BM
    if first >= size:
        return
    rows = first + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    deep = tl.arange(0, BK)
    a_ptrs = a + start * sam + rows[:, None] * sam + deep[None, :]
    b_ptrs = b + g * sbg + deep[:, None] * sbk + cols[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a_ptrs, mask=(rows[:, None] < size) & (deep[None, :] < K - k), other=0.0)
        y = tl.load(b_ptrs, mask=(deep[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BK
        b_ptrs += BK * sbk
    tl.atomic_add(c + g * N + cols, tl.sum(acc, 0), mask=cols < N)


STARTS = np.array([0, 40, 40, 168, 169, 300, 333], np.int32)
SHAPES = (int(STARTS[-1]), 112, 80)


def groups(rows=SHAPES[0]):
    M, N, K = SHAPES
    a, b = random((rows, K), "fp16", 61), random((len(STARTS) - 1, K, N), "fp16", 62)
    parts = [
        a[start:end].astype(np.float64) @ matrix.astype(np.float64)
        for matrix, start, end in zip(b, STARTS[:-1], STARTS[1:])
    ]
    return a, b, parts


def run_groups(device, kernel, a, b, out, starts=STARTS, **options):
    M, N, K = SHAPES
    tiles = triton.cdiv(int(np.diff(starts).max()), BLOCK[0])
    return kernel[(tiles, triton.cdiv(N, BLOCK[1]), len(starts) - 1)](
        device.to(a), device.to(b), out.array, device.to(starts), M, N, K, K, K * N, N, *BLOCK, **options
    )  # fmt: skip


def raised(compiled):
    return sum("load is converted to TMA" in remark.message for remark in compiled.remarks)


@pytest.mark.parametrize("kind", [np.int32, np.int64], ids=["i32", "i64"])
def test_groups(device, kind):
    """Groups of rows that start anywhere are multiplied by TMA."""
    a, b, parts = groups()
    out = device.output((SHAPES[0], SHAPES[1]), "fp32")
    compiled = run_groups(device, grouped, a, b, out, STARTS.astype(kind))
    np.testing.assert_allclose(out.numpy(), np.concatenate(parts), rtol=1e-3, atol=1e-2)
    if device.arch == 90:
        assert raised(compiled) == 2


@pytest.mark.parametrize("warps", [4, 8])
def test_rows_beyond_a_group_are_zeros(device, warps):
    a, b, parts = groups()
    out = device.to(np.zeros((len(parts), SHAPES[1]), np.float32))
    held = device.output((len(parts), SHAPES[1]), "fp32")
    held.array[:] = out
    compiled = run_groups(device, grouped_sums, a, b, held, num_warps=warps)
    expected = np.stack([part.sum(0) for part in parts])
    np.testing.assert_allclose(held.numpy(), expected, rtol=1e-3, atol=5e-2)
    if device.arch == 90 and warps == 4:
        assert raised(compiled) == 2


@pytest.mark.parametrize("seed", range(12))
def test_any_groups(device, seed):
    """Random lengths, tiles, warps and pitches; the second time the groups lie elsewhere."""
    rng = np.random.default_rng(seed)
    block = (
        int(rng.choice([64, 128])),
        int(rng.choice([32, 64, 128])),
        int(rng.choice([16, 32, 64])),
    )
    N, K = 8 * int(rng.integers(1, 20)), 8 * int(rng.integers(1, 24))
    pitch = K + 8 * int(rng.integers(0, 3))
    options = {"num_warps": int(rng.choice([4, 8])), "num_stages": int(rng.integers(2, 5))}
    for _ in range(2):
        count = int(rng.integers(1, 6))
        lengths = rng.integers(0, 150, count) * rng.integers(0, 2, count)
        starts = np.concatenate([[0], lengths.cumsum()]) + int(rng.integers(0, 40))
        rows = int(starts[-1]) + 1
        a = random((rows, pitch), "fp16", seed)
        b = random((count, K, N), "fp16", seed + 100)
        out = device.output((rows, N), "fp32")
        tiles = max(1, triton.cdiv(int(lengths.max()), block[0]))
        grouped[(tiles, triton.cdiv(N, block[1]), count)](
            device.to(a), device.to(b), out.array, device.to(starts.astype(np.int32)), rows, N, K, pitch, K * N, N, *block, **options
        )  # fmt: skip
        have = out.numpy()
        for matrix, start, end in zip(b, starts, starts[1:]):
            want = a[start:end, :K].astype(np.float64) @ matrix.astype(np.float64)
            np.testing.assert_allclose(have[start:end], want, rtol=1e-3, atol=1e-2)
        assert np.isnan(have[: starts[0]]).all() and np.isnan(have[-1:]).all()


@triton.jit
def by_expert(a, b, c, experts, M, N, K, sam, sbe, sbk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Each tile of rows selects its matrix, counted from the middle one."""
    expert = tl.load(experts + tl.program_id(0))
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * sam + deep[None, :], mask=(rows[:, None] < M) & (deep[None, :] < K), other=0.0)  # fmt: skip
        y = tl.load(b + expert * sbe + deep[:, None] * sbk + cols[None, :], mask=(deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))  # fmt: skip


def test_a_matrix_for_each_tile(device):
    """Numbers of experts may be negative."""
    M, N, K = 240, 112, 80
    a, b = random((M, K), "fp16", 63), random((5, K, N), "fp16", 64)
    experts = np.array([2, -2, 0, 1], np.int32)
    out = device.output((M, N), "fp32")
    compiled = by_expert[(4, 2)](
        device.to(a), device.to(b)[2:], out.array, device.to(experts), M, N, K, K, K * N, N, *BLOCK
    )
    blocks = [a[64 * i : 64 * i + 64].astype(np.float64) @ b[2 + e] for i, e in enumerate(experts)]
    np.testing.assert_allclose(out.numpy(), np.concatenate(blocks), rtol=1e-3, atol=1e-2)
    if device.arch == 90:
        assert raised(compiled) == 2


@triton.jit
def moved_rows(a, b, c, places, M, N, K, sam, sbk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Tiles of rows at data-dependent offsets, counted from the middle of A; the table is written afterwards."""
    place = tl.load(places + tl.program_id(0))
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + (place + tl.arange(0, BM))[:, None] * sam + deep[None, :], mask=deep[None, :] < K, other=0.0)  # fmt: skip
        y = tl.load(b + deep[:, None] * sbk + cols[None, :], mask=(deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=cols[None, :] < N)
    tl.store(places + tl.program_id(0), -1)


@pytest.mark.parametrize("K", [80, 0])
def test_rows_before_the_first(device, K):
    """Also with K = 0, where the consumers are done at once."""
    N, places = 64, np.array([-100, 5, -64, 100], np.int32)
    a, b = random((300, max(K, 16)), "fp16", 65), random((max(K, 16), N), "fp16", 66)
    table = device.output((4,), "i32")
    table.array[:] = device.to(places)
    out = device.output((256, N), "fp32")
    moved_rows[(4, 1)](
        device.to(a)[128:], device.to(b), out.array, table.array, 256, N, K, max(K, 16), N, *BLOCK
    )
    rows = np.concatenate([128 + place + np.arange(64) for place in places])
    expected = a[rows, :K].astype(np.float64) @ b[:K].astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    assert (table.numpy() == -1).all()


@triton.jit
def attend(q, k, v, out, starts, scale, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    """Consecutive sequences, as (tokens, H, D)."""
    start = tl.load(starts + tl.program_id(2))
    length = tl.load(starts + tl.program_id(2) + 1) - start
    head = tl.program_id(1)
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    if tl.program_id(0) * BM >= length:
        return
    at_rows = (start + rows)[:, None] * (H * D) + head * D + d[None, :]
    queries = tl.load(q + at_rows, mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, length, BN):
        cols = n + tl.arange(0, BN)
        keys = tl.load(k + (start + cols)[None, :] * (H * D) + head * D + d[:, None], mask=cols[None, :] < length, other=0.0)  # fmt: skip
        scores = tl.dot(queries, keys) * scale
        scores = tl.where(cols[None, :] < length, scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - now[:, None])
        shrink = tl.exp(largest - now)
        values = tl.load(v + (start + cols)[:, None] * (H * D) + head * D + d[None, :], mask=cols[:, None] < length, other=0.0)  # fmt: skip
        acc = tl.dot(weights.to(values.dtype), values, acc * shrink[:, None])
        total = total * shrink + tl.sum(weights, 1)
        largest = now
    tl.store(out + at_rows, acc / total[:, None], mask=rows[:, None] < length)


def test_sequences_of_any_length(device):
    starts, heads, depth = np.array([0, 70, 71, 71, 210], np.int32), 2, 64
    q, k, v = (random((starts[-1], heads, depth), "fp16", seed) for seed in (67, 68, 69))
    out = device.output(q.shape, "fp32")
    compiled = attend[(3, heads, len(starts) - 1)](
        *(device.to(x) for x in (q, k, v)), out.array, device.to(starts), 0.125,
        H=heads, D=depth, BM=64, BN=64,
    )  # fmt: skip
    expected = np.empty(q.shape)
    for start, end in zip(starts[:-1], starts[1:]):
        for head in range(heads):
            a, b, c = (x[start:end, head].astype(np.float64) for x in (q, k, v))
            scores = np.exp(a @ b.T * 0.125)
            expected[start:end, head] = scores @ c / scores.sum(1, keepdims=True)
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-2, atol=2e-3)
    if device.arch == 90:
        assert raised(compiled) in (0, 2)
