"""Loops with dots of which TMA can load some tiles, while the consumer warps copy the others.

Rows that are gathered through a table of indices, and rows that do not begin at multiples of 16
bytes. Results in fp32 within 1e-3 of float64; on Hopper each loop that says so has a producer.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

B = 64
MIXED = {"disabled_passes": "occupancy-first"}


@triton.jit
def gathered(
    out, a, b, table, alias, K, N, M, WAY: tl.constexpr, B: tl.constexpr, PAD: tl.constexpr,
    STAGES: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """The rows of A that `table` names times B, whose rows are PAD elements longer than N."""
    at = tl.arange(0, B)
    stride = N + PAD
    for t in tl.range(TILES, flatten=True):
        row, column = tl.program_id(0) * B, (tl.program_id(1) * TILES + t) * B
        rows, columns = row + at, column + at
        if WAY == "stored before":
            tl.store(alias + rows * 2, tl.load(alias + rows * 2) + 1)
        places = tl.load(table + rows, mask=rows < M, other=0)
        acc = tl.zeros((B, B), tl.float32)
        total = tl.zeros((B, B), tl.float32)
        for k in tl.range(0, K, B, num_stages=STAGES):
            depth = k + at
            if WAY == "masked":
                mask = (rows < M)[:, None] & (depth < K)[None, :]
                x = tl.load(a + places[:, None] * K + depth[None, :], mask=mask, other=0.0)
                inside = (depth < K)[:, None] & (columns < N)[None, :]
                y = tl.load(b + depth[:, None] * stride + columns[None, :], mask=inside, other=0.0)
            elif WAY == "indirect":
                sources = tl.load(table + depth)
                x = tl.load(a + rows[:, None] * K + depth[None, :])
                y = tl.load(b + sources[:, None] * stride + columns[None, :])
            else:
                x = tl.load(a + places[:, None] * K + depth[None, :])
                y = tl.load(b + depth[:, None] * stride + columns[None, :])
            if WAY == "swapped":
                acc += tl.trans(tl.dot(tl.trans(y), tl.trans(x)))
            elif WAY == "computed":
                acc += tl.dot(x, y.to(tl.float16) * 2)
            elif WAY == "own wait":
                acc += tl.dot(x, y) * 2
            else:
                acc = tl.dot(x, y, acc)
            if WAY == "twice":
                total += y
            elif WAY == "stored":
                tl.store(b + depth[:, None] * stride + columns[None, :], y + 1)
            elif WAY == "stored through an alias":
                tl.store(alias + depth[:, None] * stride + columns[None, :], y + 1)
            elif WAY == "barrier":
                tl.debug_barrier()
        if WAY == "two loops":
            for k in tl.range(0, K, B, num_stages=STAGES):
                x = tl.load(a + places[:, None] * K + (k + at)[None, :])
                y = tl.load(b + (k + at)[:, None] * stride + columns[None, :])
                acc = tl.dot(x, y, acc)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        tl.store(out + rows[:, None] * N + columns[None, :], acc + total, mask=mask)


WAYS = [
    "plain", "masked", "indirect", "swapped", "computed", "own wait", "twice", "stored",
    "stored through an alias", "stored before", "barrier", "two loops",
]  # fmt: skip


def expected_of(way, a, b, table):
    k = a.shape[1]
    result = (a[table] if way != "indirect" else a[: len(table)]) @ (
        b[table[:k]] if way == "indirect" else b
    )
    if way in ("computed", "own wait", "two loops"):
        return 2 * result
    blocks = sum(b[at : at + B] for at in range(0, k, B)) if way == "twice" else 0
    return result + (np.tile(blocks, (len(table) // B, 1)) if way == "twice" else 0)


def run(device, way, stages, pad=0, warps=4, tiles=1, shape=(2 * B, 4 * B, 5 * B), **choices):
    """Checks each element; the compiled kernel."""
    m, n, k = shape
    if "stored" in way:  # one program may not read what another one writes
        m = B
    if way == "stored before":
        n = B
    table = np.random.default_rng(1).permutation(max(m, k))[: max(m, k)].astype(np.int32)
    a = random((max(m, k), k), "fp16", seed=2)
    b = random((k, n + pad), "i8" if way == "computed" else "fp16", seed=3)
    out, weights = device.output((m, n), "fp32"), device.to(b.copy())
    scratch = device.to(np.zeros(4 * B + 2 * m, np.int32))
    compiled = gathered[(triton.cdiv(m, B), triton.cdiv(n, B * tiles))](
        out.array, device.to(a), weights, device.to(table),
        scratch if way == "stored before" else weights, k, n, m, way, B, pad, stages, tiles,
        num_warps=warps, **{**MIXED, **choices},
    )  # fmt: skip
    places = table if way == "indirect" else table[:m]
    wide = expected_of(way, a.astype(np.float64), b[:, :n].astype(np.float64), places)[:m]
    np.testing.assert_allclose(out.numpy(), wide, rtol=1e-3, atol=3e-2)
    if way in ("stored", "stored through an alias"):
        np.testing.assert_array_equal(device.numpy(weights)[:, :n], (b + np.float16(1))[:, :n])
    return compiled


def check_transports(compiled, loads, copies):
    """Where there are producers: how many tiles this one loads, and how many the consumers copy."""
    if compiled and "ptx" in compiled.asm and "sm_90a" in compiled.asm["ptx"]:
        messages = [r.message for r in compiled.remarks]
        assert sum("load is converted to TMA" in message for message in messages) == loads, messages
        assert sum("consumer warps copy" in message for message in messages) == copies, messages


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("way", WAYS)
def test_gathered_rows(device, way, stages):
    """The consumers gather rows; a producer loads the other operand, if nothing is in its way."""
    compiled = run(device, way, stages, shape=(2 * B - 5, 4 * B - 16, 5 * B - 16)) if (
        way == "masked"
    ) else run(device, way, stages)  # fmt: skip
    taken = ("plain", "masked", "indirect", "swapped", "computed", "own wait")
    if way in taken:
        check_transports(compiled, 1, 1)
    elif way == "two loops":
        check_transports(compiled, 2, 2)


@triton.jit
def numbered(
    out, a, b, c, table, pages, K, N, WAY: tl.constexpr, B: tl.constexpr, STAGES: tl.constexpr
):  # fmt: skip
    """Rows of B, and in one way blocks of A, by numbers that the loop loads itself."""
    at = tl.arange(0, B)
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    numbers = tl.load(table + at)
    for k in tl.range(0, K, B, num_stages=STAGES):
        if WAY != "before":
            numbers = tl.load(table + k + at)
        start = k
        if WAY == "pages":
            start = tl.load(pages + k // B) * B
        x = tl.load(a + (row + at)[:, None] * K + (start + at)[None, :])
        if WAY == "added":
            x += tl.load(c + (row + at)[:, None] * K + (k + at)[None, :])
        y = tl.load(b + numbers[:, None] * N + (column + at)[None, :])
        if WAY == "pages":
            y = tl.load(b + (k + at)[:, None] * N + (column + at)[None, :])
        acc = tl.dot(x, y, acc)
        if WAY == "before":
            numbers = tl.load(table + (k + B) % K + at)
    tl.store(out + (row + at)[:, None] * N + (column + at)[None, :], acc)


@pytest.mark.parametrize("choices", [MIXED, {}])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("way", ["plain", "added", "before", "pages"])
def test_numbers_from_the_loop(device, way, stages, warps, choices):
    """Numbers of this iteration or of the one before, one a row or one a block, next to other tiles."""
    m, n, k, block = 128, 256, 512, 64 if warps == 4 else 128
    rng = np.random.default_rng(1)
    table, pages = rng.permutation(k).astype(np.int32), rng.permutation(k // block).astype(np.int32)
    a, b, c = (random(shape, "fp16", seed) for seed, shape in enumerate([(m, k), (k, n), (m, k)]))
    out = device.output((m, n), "fp32")
    compiled = numbered[(m // block, n // block)](
        out.array, *map(device.to, (a, b, c, table, pages)), k, n, way, block, stages,
        num_warps=warps, **choices,
    )  # fmt: skip
    x, y = a.astype(np.float64), b.astype(np.float64)
    if way == "added":
        x = (a + c).astype(np.float64)
    if way == "pages":
        x = np.concatenate([x[:, p * block : (p + 1) * block] for p in pages], 1)
    expected = x @ (y if way == "pages" else y[table])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=5e-2)
    if choices and warps == 4 and way in ("plain", "pages"):
        check_transports(compiled, 1, 1)


@pytest.mark.parametrize("without", ["nv-expand-pipeline", "nv-schedule-loops", "tma-values"])
def test_without(device, without):
    """The choice next to passes that are left out."""
    run(device, "plain", 3, disabled_passes=f"occupancy-first,{without}")
    run(device, "computed", 3, disabled_passes=f"occupancy-first,{without}")


@pytest.mark.parametrize("pad", [2, 4])
@pytest.mark.parametrize("way", ["plain", "computed", "own wait"])
def test_padded_rows(device, way, pad):
    """TMA can load neither operand: the loop has no producer, and is right."""
    compiled = run(device, way, 3, pad=4 * pad if way == "computed" else pad)
    check_transports(compiled, 0, 0)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("tiles", [2, 4])
def test_several_tiles(device, tiles, warps):
    """A program goes from tile to tile: the copies begin again in each, the producer goes on."""
    compiled = run(device, "plain", 3, tiles=tiles, warps=warps)
    check_transports(compiled, 1, 1)


@pytest.mark.parametrize("stages", [2, 4])
def test_persistent(device, stages):
    """Programs without a loop of their own, as many as several waves of an SM."""
    shape = (3 * B, 7 * B, 3 * B)
    check_transports(run(device, "plain", stages, shape=shape), 1, 1)
    run(device, "plain", stages, shape=shape, enabled_passes="nv-stream-k")


@triton.jit
def attended(out, q, k, v, n, stride, PAD: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    """Attention of one head; the values' rows are PAD elements longer than those of the keys."""
    at, d = tl.arange(0, B), tl.arange(0, D)
    rows = tl.program_id(0) * B + at
    queries = tl.load(q + rows[:, None] * stride + d[None, :])
    most = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, n, B):
        keys = tl.load(k + (start + at)[:, None] * stride + d[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * 0.125
        higher = tl.maximum(most, tl.max(scores, 1))
        scale = tl.exp(most - higher)
        p = tl.exp(scores - higher[:, None])
        values = tl.load(v + (start + at)[:, None] * (stride + PAD) + d[None, :])
        acc = tl.dot(p.to(tl.float16), values, acc * scale[:, None])
        total = total * scale + tl.sum(p, 1)
        most = higher
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None])


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("d", [64, 128])
def test_attention(device, d, warps, stages):
    """Keys by TMA, values by the consumers: the second MMA is of another iteration, or is not."""
    n, block = 256, 128 if warps == 8 else 64
    q, k = (random((n, d), "fp16", seed=seed) for seed in (1, 2))
    v = random((n, d + 4), "fp16", seed=3)
    out = device.output((n, d), "fp32")
    compiled = attended[(n // block,)](
        out.array, *map(device.to, (q, k, v)), n, d, 4, d, block, num_warps=warps,
        num_stages=stages, **MIXED,
    )  # fmt: skip
    q, k, v = (x.astype(np.float64)[:, :d] for x in (q, k, v))
    scores = q @ k.T * 0.125
    p = np.exp(scores - scores.max(1, keepdims=True))
    expected = p @ v / p.sum(1, keepdims=True)
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=5e-3)
    check_transports(compiled, 1, 1)
