"""Loops with dots that scalars end early: their iterations are counted first, and loads are prefetched."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

AHEAD = ("load is converted to TMA", "load is prefetched")


@triton.jit
def matmul_kernel(a, b, c, out, limits, n, K, B: tl.constexpr, LOOP: tl.constexpr):
    """C = A B, over as much of K as the loop says; `out` gets what scalars were at the end."""
    rows, ks = tl.arange(0, B), tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    k = 0
    steps = 0
    if LOOP == "first":
        for k in range(0, n, B):
            if k >= K:
                break
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
            steps += 1
    elif LOOP == "last":
        for k in range(0, n, B):
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
            steps += 1
            if k + B >= K:
                break
    elif LOOP == "between":
        for k in range(0, n, B):
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            steps += 1
            if k + B > K:
                break
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
    elif LOOP == "else":
        for k in range(0, n, B):
            if k >= K:
                steps += 100
                break
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
            steps += 1
        else:
            steps += 1000
    elif LOOP == "seen":
        seen = False
        for k in range(0, n, B):
            seen = k >= B
            if k >= K:
                break
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            y = tl.load(b + (k + ks)[:, None] * B + rows)
            if seen:
                total = tl.dot(x, y, total)
            else:
                total -= tl.dot(x, y)
            steps += 1
        steps += seen.to(tl.int32) * 50
    elif LOOP == "while":
        while (k < K) & (k < n):
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
            steps += 1
            k += B
    elif LOOP == "memory":
        for k in range(0, n, B):
            if tl.load(limits + steps) == 0:
                break
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
            steps += 1
    elif LOOP == "tile":
        for k in range(0, n, B):
            x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
            total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
            steps += 1
            if tl.sum(tl.load(limits + tl.arange(0, 16))) <= steps:
                break
    tl.store(c + rows[:, None] * B + rows, total)
    tl.store(out, steps)
    tl.store(out + 1, k)


def expected_of(loop, a, b, limit, n, K, B):
    """The same, in float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    total, steps, k = np.zeros((B, B)), 0, 0

    def part(k):
        return a[:, k : k + B] @ b[k : k + B]

    if loop == "while":
        while k < K and k < n:
            total, steps, k = total + part(k), steps + 1, k + B
        return total, steps, k
    for k in range(0, n, B):
        if loop in ("first", "else", "seen") and k >= K:
            steps += 100 if loop == "else" else 0
            break
        if loop == "memory" and steps >= limit:
            break
        steps += 1
        if loop == "between" and k + B > K:
            break
        total = total - part(k) if loop == "seen" and k < B else total + part(k)
        if loop == "last" and k + B >= K or loop == "tile" and limit <= steps:
            break
    else:
        steps += 1000 if loop == "else" else 0
    if loop == "seen":
        steps += 50 * (k >= B and n > 0)
    return total, steps, k


LOOPS = ["first", "last", "between", "else", "seen", "while", "memory", "tile"]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("B", [32, 64])
@pytest.mark.parametrize("sizes", [(512, 512), (512, 200), (512, 64), (256, 999), (0, 64)], ids=str)
def test_exits(device, loop, sizes, B):
    """A loop that a scalar ends early leaves the right accumulator."""
    n, K = sizes
    limit = -(-min(n, K) // B)
    a, b = random((B, max(n, B)), "fp16", 1), random((max(n, B), B), "fp16", 2)
    a = np.ascontiguousarray(a[:, : n or B])
    limits = (np.arange(64) < limit).astype(np.int32)
    limits[16:] = limits[16:] if loop == "memory" else 0
    c, out = device.output((B, B), "fp32"), device.output(2, "i32")
    kernel = matmul_kernel[(1,)](
        *map(device.to, (a, b)), c.array, out.array, device.to(limits), n, K, B, loop
    )
    if loop == "tile":
        limit = int(limits[:16].sum())
    total, steps, k = expected_of(loop, a, b, limit, n, K, B)
    np.testing.assert_allclose(c.numpy(), total, rtol=1e-3, atol=2e-3)
    np.testing.assert_array_equal(out.numpy(), [steps, k])
    if device.arch:
        messages = [remark.message for remark in kernel.remarks]
        # Memory or a tile decides, or the loads stand under another condition.
        counts = loop not in ("memory", "tile", "between", "seen")
        assert any(text.startswith(AHEAD) for text in messages) == counts, messages


@triton.jit
def sum_until(a, b, start, n, K, B: tl.constexpr):
    rows, ks = tl.arange(0, B), tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for k in range(start, n, B):
        if k >= K:
            return total * 2
        x = tl.load(a + rows[:, None] * n + (k + ks)[None, :])
        total = tl.dot(x, tl.load(b + (k + ks)[:, None] * B + rows), total)
    return total


@triton.jit
def programs_kernel(a, b, c, n, K, tiles, B: tl.constexpr):
    """Tiles one after the other until there are none; each sum may end early, and returns then."""
    rows = tl.arange(0, B)
    tile = tl.program_id(0)
    while True:
        if tile >= tiles:
            break
        total = sum_until(a + tile * B * n, b, tile * B, n, K, B)
        tl.store(c + tile * B * B + rows[:, None] * B + rows, total)
        tile += tl.num_programs(0)


@pytest.mark.parametrize("B", [32, 64])
@pytest.mark.parametrize("K", [64, 300, 2000])
def test_exits_within_exits(device, B, K):
    n, tiles = 512, 5
    a, b = random((tiles, B, n), "fp16", 3), random((n, B), "fp16", 4)
    c = device.output((tiles, B, B), "fp32")
    programs_kernel[(2,)](device.to(a), device.to(b), c.array, n, K, tiles, B)
    for tile in range(tiles):
        start = tile * B
        end = max(start, -(-min(K, n) // B) * B)
        exact = a[tile, :, start:end].astype(np.float64) @ b[start:end].astype(np.float64)
        factor = 2 if K < n else 1
        np.testing.assert_allclose(c.numpy()[tile], exact * factor, rtol=1e-3, atol=4e-3)


@triton.jit
def staged_kernel(out, x, n, last, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for i in tl.range(0, n, num_stages=3):
        if i * i > last:
            break
        row = tl.load(x + i * B + at)
        total = total * 0.5 + row
        tl.store(out + i * B + at, total)
    tl.store(out + n * B + at, total)


@pytest.mark.parametrize("last", [-1, 0, 30, 10000])
def test_stages_of_its_own(device, last):
    """Without dots, `num_stages` says that loads are prefetched."""
    n, B = 12, 128
    x = random((n, B), "fp32", 5)
    out = device.output((n + 1, B), "fp32")
    staged_kernel[(1,)](out.array, device.to(x), n, last, B)
    total, result = np.zeros(B), out.numpy()
    for i in range(n):
        if i * i > last:
            assert np.isnan(result[i:n]).all()
            break
        total = total * 0.5 + x[i]
        np.testing.assert_allclose(result[i], total, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result[n], total, rtol=1e-5, atol=1e-6)
