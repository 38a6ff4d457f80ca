"""What a producer computes for its loads: numbers that pass through loops, branches and memory.

GEMMs whose coordinates are computed by scalars, in every way that one thread can follow
it, and in some that it cannot (then all warps load). Results in fp32 within 1e-3 of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

B, K, ROUNDS = 128, 256, 3


@triton.jit
def step(a, b, acc, row, k, K: tl.constexpr, B: tl.constexpr):
    rows, depth = row + tl.arange(0, B), k + tl.arange(0, 64)
    x = tl.load(a + rows[:, None] * K + depth[None, :])
    y = tl.load(b + depth[:, None] * B + tl.arange(0, B)[None, :])
    return tl.dot(x, y, acc)


@triton.jit
def sums(a, b, c, table, count, rounds, WAY: tl.constexpr, K: tl.constexpr, B: tl.constexpr):
    """c[i] = sum over rounds r of 2^-r' A[row(r)] B, with the rows that WAY computes."""
    program = tl.program_id(0)
    acc = tl.zeros((B, B), tl.float32)
    block, tile = 0, tl.zeros((B,), tl.int32)
    scale = 1.0
    first = tl.load(table)
    for r in range(rounds):
        if WAY == "carried":  # advanced by the inner loop, too
            row = tl.maximum(block, 0) * B
            for k in range(0, K, 64):
                acc = step(a, b, acc, row, k, K, B)
                block += 1
            block -= K // 64 - 1
        else:
            if WAY == "plain":
                block = r
            elif WAY == "branch":
                if r == 1:
                    block, scale = count - 1, 1.0
                else:
                    block, scale = r, 1.0
            elif WAY == "while":
                block = 0
                while block * block < r * r:
                    block += 1
            elif WAY == "early":
                block = (first + r) % count
            elif WAY == "late":
                block = tl.load(table + r)
            elif WAY == "tile":
                tile += 1
                block = tl.max(tile) - 1
            row = tl.maximum(block, 0) * B
            for k in range(0, K, 64):
                acc = step(a, b, acc, row, k, K, B)
        acc *= 0.5 * scale
    at = program * B * B + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(c + at, acc)


# Where one thread can follow the number on its own.
FOLLOWED = {"plain", "carried", "branch", "while", "early"}


@pytest.mark.parametrize("way", [*sorted(FOLLOWED), "late", "tile"])
def test_a_sum_over_two_loops(device, way):
    table = np.array([1, 2, 0], np.int32)
    a, b = random((ROUNDS * B, K), "fp16", seed=1), random((K, B), "fp16", seed=2)
    order = {"early": [1, 2, 0], "late": [1, 2, 0], "branch": [0, ROUNDS - 1, 2]}
    expected = np.zeros((B, B))
    for block in order.get(way, [0, 1, 2]):
        tile = a[block * B : block * B + B].astype(np.float64)
        expected = (expected + tile @ b.astype(np.float64)) / 2
    out = device.output((2, B, B), "fp32")
    compiled = sums[(2,)](
        device.to(a), device.to(b), out.array, device.to(table), ROUNDS, ROUNDS, way, K, B, num_warps=8
    )  # fmt: skip
    for result in out.numpy():
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=2e-3)
    if device.name in ("emulated", "cuda") and device.arch == 90:
        assert ("producer: 1 warp" in compiled.plan) == (way in FOLLOWED), compiled.plan
