"""Loops that load a tile for a dot and compute with it, too, as norms before a GEMM and scans do.

The tile has one copy in shared memory, which is prefetched; threads read it from there, before the dot,
after it or for another dot, also in loops that count down. Operands in fp16, bf16 or fp32 (by tf32),
sums in fp32: within 2^-16 of the size of the terms of float64, 2^-9 by tf32, and an operand that is
rounded after scaling within a step of its own.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

BLOCK = 64


@triton.jit
def kernel(
    a, b, out, squares, K, N, WAY: tl.constexpr, B: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A B and what `WAY` makes of the tiles of A, a row of blocks; `squares` has a number per row."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    total = tl.zeros((B,), tl.float32)
    for i in tl.range(0, tl.cdiv(K, B), num_stages=STAGES):
        k = (tl.cdiv(K, B) - 1 - i if WAY == "down" else i) * B + tl.arange(0, B)
        x = tl.load(
            a + rows[:, None] * K + k[None, :], mask=(k >= 0)[None, :] & (k < K)[None, :], other=0.0
        )
        y = tl.load(
            b + k[:, None] * N + columns[None, :],
            mask=(k >= 0)[:, None] & (k < K)[:, None] & (columns < N)[None, :], other=0.0,
        )  # fmt: skip
        if WAY == "before":
            total += tl.sum(x.to(tl.float32) * x, 1)
        if WAY == "scaled":
            acc = tl.dot((x * 2).to(x.dtype), y, acc)
        if WAY == "transposed":
            acc += tl.dot(tl.trans(y), tl.trans(x)).T
        else:
            acc = tl.dot(x, y, acc)
        if WAY == "after" or WAY == "down" or WAY == "scaled" or WAY == "transposed":
            total += tl.sum(x.to(tl.float32) * x, 1)
        elif WAY == "both":
            acc += x.to(tl.float32) + y.to(tl.float32)
            total += tl.sum(y.to(tl.float32) * y, 0)
        elif WAY == "rounded":
            z = (x * 0.7).to(x.dtype)
            total += tl.sum(z.to(tl.float32) * x, 1)
            acc = tl.dot(z, y, acc)
    tl.store(out + rows[:, None] * N + columns[None, :], acc, mask=(columns < N)[None, :])
    tl.store(squares + tl.program_id(1) * tl.num_programs(0) * B + rows, total)


def expected(way, a, b, tiles):
    """The sums, the size of their terms, and the numbers per row for each of `tiles` columns of tiles."""
    m, k = a.shape
    n = b.shape[1]
    factor = {"scaled": 3, "rounded": 1.7}.get(way, 1)
    result, size = factor * (a @ b), factor * (np.abs(a) @ np.abs(b))
    totals = np.tile((a * a).sum(1) * (0.7 if way == "rounded" else 1), (tiles, 1))
    if way == "both":
        for i in range(-(-k // BLOCK)):
            x, y = np.zeros((m, BLOCK)), np.zeros((BLOCK, n))
            x[:, : min(BLOCK, k - i * BLOCK)] = a[:, i * BLOCK : (i + 1) * BLOCK]
            y[: min(BLOCK, k - i * BLOCK)] = b[i * BLOCK : (i + 1) * BLOCK]
            added = np.tile(x, (1, tiles))[:, :n] + np.tile(y, (m // BLOCK, 1))
            result, size = result + added, size + np.abs(added)
        squares = np.zeros(tiles * BLOCK)
        squares[:n] = (b * b).sum(0)
        totals = np.stack(
            [np.tile(squares[t * BLOCK : (t + 1) * BLOCK], m // BLOCK) for t in range(tiles)]
        )
    return result, size, totals


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize(
    "way", ["before", "after", "both", "scaled", "rounded", "transposed", "down"]
)
def test_operands_read_by_threads(device, way, dtype, stages):
    """Every element, for K that ends in the middle of a tile, no iteration and one."""
    for k in (0, BLOCK, 4 * BLOCK + 24):
        m, n = 2 * BLOCK, BLOCK + 40
        a = random((m, max(k, 8)), dtype, seed=1 + k)[:, :k].copy()
        b = random((max(k, 8), n), dtype, seed=2 + k)[:k].copy()
        tiles = -(-n // BLOCK)
        out, squares = device.output((m, n), "fp32"), device.output((tiles, m), "fp32")
        compiled = kernel[(m // BLOCK, tiles)](
            device.to(a), device.to(b), out.array, squares.array, k, n, way, BLOCK, stages,
            disabled_passes="occupancy-first",
        )  # fmt: skip
        want, size, totals = expected(way, a.astype(np.float64), b.astype(np.float64), tiles)
        bound = {"fp16": 2.0**-16, "bf16": 2.0**-16, "fp32": 2.0**-9}[dtype]
        if way == "rounded":
            bound += 2.0**-8
        assert (np.abs(out.numpy() - want) <= bound * size + 1e-6).all(), k
        np.testing.assert_allclose(squares.numpy(), totals, rtol=1e-2, atol=1e-3)
    if stages > 1 and dtype != "fp32" and compiled and "sm_90a" in compiled.asm.get("ptx", ""):
        messages = [remark.message for remark in compiled.remarks]
        assert sum("converted to TMA" in line for line in messages) == 2, messages
