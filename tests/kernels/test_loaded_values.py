"""Tiles that threads of a loop with dots read: matrices to unpack, scale or add, and vectors.

A producer copies them on Hopper, through circular buffers that each warp releases once it has read
them. Each case is a way to read or to change such a tile; results in fp32 within 1e-3 of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

B = 64


@triton.jit
def tile(base, row, column, stride, B: tl.constexpr):
    return base + (row + tl.arange(0, B))[:, None] * stride + (column + tl.arange(0, B))[None, :]


@triton.jit
def weighted(
    out, a, w, s, alias, K, N, M, WAY: tl.constexpr, B: tl.constexpr, STAGES: tl.constexpr
):  # fmt: skip
    """A times the weights W, of int8, in some way; S has fp32 rows of N."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    rows, columns, depth = row + tl.arange(0, B), column + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    total = tl.zeros((B, B), tl.float32)
    last = tl.zeros((B, B), tl.int8)
    if WAY == "stored before":
        for k in range(0, K, B):
            tl.store(tile(alias, k, column, N, B), tl.load(tile(w, k, column, N, B)) + 1)
    for k in tl.range(0, K, B, num_stages=STAGES):
        if WAY == "tail":
            x = tl.load(
                tile(a, row, k, K, B),
                mask=(rows < M)[:, None] & (k + depth < K)[None, :],
                other=0.0,
            )
            y = tl.load(
                tile(w, k, column, N, B),
                mask=(k + depth < K)[:, None] & (columns < N)[None, :], other=0,
            )  # fmt: skip
        else:
            x = tl.load(tile(a, row, k, K, B))
            y = tl.load(tile(w, k, column, N, B))
        if WAY == "masked":
            y = tl.load(tile(w, k, column, N, B), mask=((k + depth) % 3 > 0)[:, None], other=0)
        elif WAY == "other":
            y = tl.load(tile(w, k, column, N, B), mask=(k + depth < K - 8)[:, None], other=7)
        if WAY == "branch":
            if k % 128 == 0:
                total += y
        elif WAY == "twice":
            total += y
        elif WAY == "late":
            acc += tl.dot(x, tl.trans(x).to(tl.float16)) * 0
        if WAY == "apart":
            acc = tl.dot(x, tl.trans(tl.load(tile(a, column, k, K, B))), acc)
            total += y
        else:
            acc += tl.dot(x, y.to(tl.float16))
        if WAY == "twice" or WAY == "late":
            total += y.to(tl.float32) * y
        elif WAY == "added":
            acc += tl.load(tile(s, row, column, N, B)) + tl.load(tile(s, k, column, N, B))
        elif WAY == "stored":
            tl.store(tile(w, k, column, N, B), y + 1)
        elif WAY == "stored through an alias":
            tl.store(tile(alias, k, column, N, B), y + 1)
        elif WAY == "barrier":
            tl.debug_barrier()
        elif WAY == "kept":
            last = y
    if WAY == "kept":
        total += last
    elif WAY == "two loops":
        for k in tl.range(0, K, B, num_stages=STAGES):
            x = tl.load(tile(a, row, k, K, B))
            y = tl.load(tile(w, k, column, N, B))
            acc += tl.dot(x, (y * 2).to(tl.float16))
    tl.store(
        tile(out, row, column, N, B), acc + total, mask=(rows < M)[:, None] & (columns < N)[None, :]
    )


def expected_of(way, x, w, s):
    k = x.shape[1]
    result = x @ w
    if way == "masked":
        result = x @ (w * (np.arange(k) % 3 > 0)[:, None])
    elif way == "other":
        result = x @ np.where((np.arange(k) < k - 8)[:, None], w, 7)
    blocks = sum(w[at : at + B] for at in range(0, k, B)) if k % B == 0 else 0
    squares = sum(w[at : at + B] ** 2 for at in range(0, k, B)) if k % B == 0 else 0
    if way == "stored before":
        result = x @ (w + 1)
    elif way == "apart":
        result = x @ x.T + np.tile(blocks, (x.shape[0] // B, 1))
    elif way == "branch":
        result = result + np.tile(
            sum(w[at : at + B] for at in range(0, k, 2 * B)), (x.shape[0] // B, 1)
        )
    elif way == "twice":
        result = result + np.tile(blocks + squares, (x.shape[0] // B, 1))
    elif way == "late":
        result = result + np.tile(squares, (x.shape[0] // B, 1))
    elif way == "added":
        result = result + (k // B) * s[: x.shape[0]]
        result = result + np.tile(
            sum(s[at : at + B] for at in range(0, k, B)), (x.shape[0] // B, 1)
        )
    elif way == "kept":
        result = result + np.tile(w[k - B : k], (x.shape[0] // B, 1))
    elif way == "two loops":
        result = 3 * result
    return result


WAYS = [
    "plain", "apart", "masked", "other", "branch", "twice", "late", "added", "stored",
    "stored through an alias", "stored before", "barrier", "kept", "two loops", "tail",
]  # fmt: skip


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("way", WAYS)
def test_weights(device, way, stages):
    """Weights of int8 are read once or more, under a mask, next to stores, and after the loop."""
    # One program may not read what another one writes.
    m, n, k = (B if "stored" in way else 2 * B), 2 * B, 5 * B
    if way == "tail":
        m, n, k = m - 3, n - 16, k - 16
    a, s = random((m, k), "fp16", seed=1), random((max(m, k), n), "fp32", seed=2)
    w = np.random.default_rng(3).integers(-8, 8, (k, n)).astype(np.int8)
    out, weights = device.output((m, n), "fp32"), device.to(w.copy())
    compiled = weighted[(triton.cdiv(m, B), triton.cdiv(n, B))](
        out.array, device.to(a), weights, device.to(s), weights, k, n, m, way, B, stages,
        disabled_passes="occupancy-first",
    )  # fmt: skip
    expected = expected_of(way, *(x.astype(np.float64) for x in (a, w, s)))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=2e-2)
    if "stored" in way:
        np.testing.assert_array_equal(device.numpy(weights), w + 1)
    taken = ("plain", "apart", "twice", "late", "stored before", "two loops", "tail")
    if stages > 1 and way in taken:
        check_producer(compiled, {"two loops": 4, "apart": 3}.get(way, 2))


def check_producer(compiled, loads):
    """Where there are producers: how many loads this one has."""
    if compiled and "ptx" in compiled.asm and "sm_90a" in compiled.asm["ptx"]:
        messages = [r.message for r in compiled.remarks]
        assert sum("converted to TMA" in message for message in messages) == loads, messages


@pytest.mark.parametrize("m, n, k", [(2, 1, 32), (1, 3, 9)])
def test_split_tiles(device, m, n, k):
    """CTAs begin in the middle of a tile's weights."""
    a = random((m * B, k * B), "fp16", seed=1)
    w = np.random.default_rng(3).integers(-8, 8, (k * B, n * B)).astype(np.int8)
    out, weights = device.output((m * B, n * B), "fp32"), device.to(w)
    weighted[(m, n)](
        out.array, device.to(a), weights, device.to(np.zeros((1, 1), np.float32)), weights, k * B,
        n * B, m * B, "plain", B, 3, disabled_passes="occupancy-first",
        enabled_passes="nv-stream-k",
    )  # fmt: skip
    expected = a.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=5e-2)


@pytest.mark.parametrize(
    "dtype", ["i1", "i8", "u8", "i16", "i32", "i64", "fp16", "bf16", "fp32", "fp64"]
)
def test_types(device, dtype):
    """A tensor map has elements of each type that tiles have."""
    m, n, k = B, B, 4 * B
    a, w = random((m, k), "fp16", seed=1), random((k, n), dtype, seed=2)
    out, weights = device.output((m, n), "fp32"), device.to(w)
    compiled = weighted[(1, 1)](
        out.array, device.to(a), weights, device.to(np.zeros((k, n), np.float32)), weights, k, n, m,
        "plain", B, 2, disabled_passes="occupancy-first",
    )  # fmt: skip
    halves = w.astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(out.numpy(), a.astype(np.float64) @ halves, rtol=1e-3, atol=2e-2)
    check_producer(compiled, 2)


@triton.jit
def scaled(
    out, a, b, vectors, alias, n, heads, WAY: tl.constexpr, COUNT: tl.constexpr,
    WIDTH: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Scores of A with its own rows, times COUNT vectors that differ per head, times B."""
    head = tl.program_id(0)
    at, columns = tl.arange(0, B), tl.arange(0, WIDTH)
    vectors += head * n
    alias += head * n
    acc = tl.zeros((B, WIDTH), tl.float32)
    first = tl.load(tile(a, 0, 0, B, B))
    begin = B if WAY == "from the second" else 0
    for start in range(begin, n, B):
        x = tl.load(tile(a, start, 0, B, B))
        if WAY == "before":
            factor = tl.load(vectors + start + at)[None, :]
            scores = tl.dot(first, tl.trans(x)) * factor
        else:
            scores = tl.dot(first, tl.trans(x))
        for i in tl.static_range(COUNT):
            place = i * heads * n + start + at
            if WAY == "masked":
                scores *= tl.load(vectors + place, mask=start + at < n - 5, other=0.0)[None, :]
            elif WAY == "rows":
                scores *= tl.load(vectors + place)[:, None]
            else:
                scores *= tl.load(vectors + place)[None, :]
        y = tl.load(b + (start + at)[:, None] * WIDTH + columns[None, :])
        acc = tl.dot(scores.to(tl.float16), y, acc)
        if WAY == "twice":
            acc += tl.sum(tl.load(vectors + start + at))
        elif WAY == "stored":
            tl.store(alias + start + at, tl.load(vectors + start + at) + 1)
    if WAY == "two loops":
        for start in range(0, n, B):
            x = tl.load(tile(a, start, 0, B, B))
            scores = tl.dot(first, tl.trans(x))
            for i in tl.static_range(COUNT):
                scores *= tl.load(vectors + i * heads * n + start + at)[None, :]
            y = tl.load(b + (start + at)[:, None] * WIDTH + columns[None, :])
            acc = tl.dot(scores.to(tl.float16), y, acc)
    tl.store(out + (head * B + at)[:, None] * WIDTH + columns[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(
    "way", ["plain", "before", "masked", "rows", "twice", "stored", "two loops", "from the second"]
)
@pytest.mark.too_large_for("sm_80")
def test_vectors(device, way, stages):
    """Vectors that registers do not suffice for, along rows or columns, and next to stores."""
    heads, n, width, count = 3, 4 * B, 256, 3
    a, b = random((n, B), "fp16", seed=1), random((n, width), "fp16", seed=2)
    vectors = random((count, heads, n), "fp32", seed=3)
    x, y, v = (each.astype(np.float64) for each in (a, b, vectors))
    out, memory = device.output((heads * B, width), "fp32"), device.to(vectors.copy())
    compiled = scaled[(heads,)](
        out.array, device.to(a), device.to(b), memory, memory, n, heads, way, count, width, B,
        num_stages=stages, disabled_passes="occupancy-first",
    )  # fmt: skip
    if way == "masked":
        v[:, :, n - 5 :] = 0
    scores = (x[:B] @ x.T)[None] * np.ones((heads, 1, 1))
    for i in range(count):
        if way == "rows":
            per_tile = v[i].reshape(heads, n // B, 1, B).repeat(B, 2)
            scores = scores * per_tile.transpose(0, 3, 1, 2).reshape(heads, B, n)
        else:
            scores = scores * v[i][:, None, :]
    if way == "before":
        scores = scores * v[0][:, None, :]
    begin = B if way == "from the second" else 0
    expected = scores[:, :, begin:] @ y[begin:] * (2 if way == "two loops" else 1)
    if way == "twice":
        expected = expected + v[0].sum(1)[:, None, None]
    bound = np.abs(scores).max() * n * 2e-3
    np.testing.assert_allclose(
        out.numpy(), expected.reshape(heads * B, width), rtol=1e-3, atol=bound
    )
    if stages > 1 and way not in ("rows", "twice", "stored"):
        check_producer(compiled, {"two loops": 6, "before": 4}.get(way, 3))
