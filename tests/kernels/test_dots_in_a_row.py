"""Loops whose dots add to one accumulator in a row, as those of rows that are held in parts.

On Hopper the second MMA adds to the result of the first while that is in flight, and the stage of the
first is released after both. Each case is a way to read the accumulator or to change it in between.
Operands are in fp16, sums in fp32: within 2^-16 of the size of the terms, and a value that is rounded
to fp16 within a step of its own, of float64.
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
def added(a, b, alias, out, K, N, WAY: tl.constexpr, B: tl.constexpr, STAGES: tl.constexpr):
    """A B, a row of K in parts; `alias` has fp32 rows of N."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    total = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, 3 * B, num_stages=STAGES):
        x, y, z = (
            tl.load(tile(a, row, k, K, B)),
            tl.load(tile(a, row, k + B, K, B)),
            tl.load(tile(a, row, k + 2 * B, K, B)),
        )
        if WAY == "in a row":
            acc = tl.dot(x, tl.load(tile(b, k, column, N, B)), acc)
            acc = tl.dot(y, tl.load(tile(b, k + B, column, N, B)), acc)
            acc = tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), acc)
        elif WAY == "from zero":
            part = tl.dot(x, tl.load(tile(b, k, column, N, B)))
            part = tl.dot(y, tl.load(tile(b, k + B, column, N, B)), part)
            part = tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), part)
            acc += part * 0.5
        elif WAY == "read":
            part = tl.dot(x, tl.load(tile(b, k, column, N, B)))
            both = tl.dot(y, tl.load(tile(b, k + B, column, N, B)), part)
            acc += tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), both)
            total += part
        elif WAY == "scaled":
            acc = tl.dot(x, tl.load(tile(b, k, column, N, B)), acc)
            acc = tl.dot(y, tl.load(tile(b, k + B, column, N, B)), acc * 0.5)
            acc = tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), acc)
        elif WAY == "stored between":
            part = tl.dot(x, tl.load(tile(b, k, column, N, B)))
            tl.store(tile(alias, row, column, N, B), total + k)
            acc += tl.dot(y, tl.load(tile(b, k + B, column, N, B)), part)
            acc = tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), acc)
        elif WAY == "loaded between":
            part = tl.dot(x, tl.load(tile(b, k, column, N, B)))
            total += tl.load(tile(alias, row, column, N, B))
            acc += tl.dot(y, tl.load(tile(b, k + B, column, N, B)), part)
            acc = tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), acc)
        elif WAY == "left of the next":
            part = tl.dot(x, tl.load(tile(b, k, column, N, B)))
            part = tl.dot(y, tl.load(tile(b, k + B, column, N, B)), part)
            acc = tl.dot(part.to(tl.float16), tl.load(tile(b, 0, column, N, B)), acc)
            acc = tl.dot(z, tl.load(tile(b, k + 2 * B, column, N, B)), acc)
    tl.store(tile(out, row, column, N, B), acc + total)


def expected(way, a, b, alias):
    """The result and the size of its terms, in float64."""

    def sums(a, b, alias):
        acc = np.zeros((len(a), b.shape[1]))
        total = np.zeros_like(acc)
        for k in range(0, a.shape[1], 3 * B):
            x, y, z = (a[:, i : i + B] @ b[i : i + B] for i in range(k, k + 3 * B, B))
            if way == "from zero":
                acc += (x + y + z) * 0.5
            elif way == "scaled":
                acc = (acc + x) * 0.5 + y + z
            elif way == "left of the next":
                half = (x + y).astype(np.float16).astype(np.float64)
                for n in range(0, b.shape[1], B):
                    acc[:, n : n + B] += half[:, n : n + B] @ b[:B, n : n + B]
                acc += z
            else:
                acc += x + y + z
            total += x if way == "read" else alias if way == "loaded between" else 0
        return acc + total

    wide = [x.astype(np.float64) for x in (a, b, alias)]
    return sums(*wide), sums(*map(np.abs, wide))


WAYS = ("in a row", "from zero", "read", "scaled", "stored between", "loaded between")


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("way", [*WAYS, "left of the next"])
def test_dots_in_a_row(device, way, stages):
    """Sums are right however the accumulator is read between the dots, for any number of iterations."""
    for parts in (0, 1, 2, 5):
        m, n, k = 2 * B, B, 3 * B * parts
        a = random((m, max(k, 1)), "fp16", seed=1 + parts)
        b = random((max(k, B), n), "fp16", seed=2 + parts)
        alias = random((m, n), "fp32", seed=3 + parts)
        out, shared = device.output((m, n), "fp32"), device.to(alias.copy())
        added[(m // B, n // B)](
            device.to(a), device.to(b), shared, out.array, k, n, way, B, stages,
            disabled_passes="occupancy-first",
        )  # fmt: skip
        want, size = expected(way, a[:, :k], b, alias)
        allowed = 2.0**-16 * size + 1e-6
        if way == "left of the next":
            allowed += 2.0**-10 * size
        assert (np.abs(out.numpy().astype(np.float64) - want) <= allowed).all(), parts
        if way == "stored between" and parts:
            np.testing.assert_array_equal(device.numpy(shared), np.full((m, n), k - 3 * B))


@triton.jit
def in_turn(a, b, out, K, N, WAY: tl.constexpr, M: tl.constexpr, B: tl.constexpr):
    """Two loops of three dots; the first one has half of the iterations."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * B
    rows, columns, depth = row + tl.arange(0, M), column + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((M, B), tl.float32)
    middle = K // (2 * B) * B
    for part in tl.static_range(2):
        for k in tl.range(0 if part == 0 else middle, middle if part == 0 else K, B, num_stages=3):
            x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
            y = tl.load(b + (k + depth)[:, None] * N + columns[None, :])
            z = tl.load(b + depth[:, None] * N + columns[None, :])
            if WAY == "in a row":
                sums = tl.dot(x, y, tl.dot(x, z, tl.dot(x, y)))
            else:
                sums = tl.dot(x, y) + tl.dot(x, z) + tl.dot(x, y)
            acc = acc * 0.5 + sums
    tl.store(out + rows[:, None] * N + columns[None, :], acc)


@pytest.mark.parametrize("parts", [0, 1, 2, 5])
@pytest.mark.parametrize("way", ["in a row", "from zero"])
def test_groups_in_turn(device, way, parts):
    """Warp groups alternate over loops and programs, also where loops are empty."""
    m, n, k = 3 * 128, 4 * B, parts * B
    a = random((m, max(k, 1)), "fp16", seed=1 + parts)
    b = random((max(k, B), n), "fp16", seed=2 + parts)
    out = device.output((m, n), "fp32")
    in_turn[(3, 4)](
        device.to(a), device.to(b), out.array, k, n, way, 128, B, num_warps=8,
        disabled_passes="occupancy-first",
    )  # fmt: skip
    wide, tall = a[:, :k].astype(np.float64), b.astype(np.float64)
    want, size = np.zeros((m, n)), np.zeros((m, n))
    for i in range(0, k, B):
        x, y, z = wide[:, i : i + B], tall[i : i + B], tall[:B]
        want = want * 0.5 + 2 * (x @ y) + x @ z
        size = size * 0.5 + 2 * (np.abs(x) @ np.abs(y)) + np.abs(x) @ np.abs(z)
    assert (np.abs(out.numpy().astype(np.float64) - want) <= 2.0**-16 * size + 1e-6).all()
