"""Loops whose MMAs start from zero, and whose results are scaled and added while the next MMAs run:
any number of iterations, one result used twice, two dots, two loops, few stages, fp8 and int8."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

# So many stages that few CTAs share an SM: a thread then has registers for a second result.
DEEP = {"num_warps": 4, "num_stages": 6, "disabled_passes": "occupancy-first"}
BIAS = 0.5


@triton.jit
def scaled_kernel(
    a_ptr, b_ptr, rows_ptr, columns_ptr, out_ptr, peak_ptr, first, last, N, K,
    STEP: tl.constexpr, START: tl.constexpr, BIAS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, USE: tl.constexpr, APART: tl.constexpr = 0,
):  # fmt: skip
    """out = BIAS + Σ scale(row, block) scale(block, column) (a b)ₖ over blocks of K; with USE
    `twice` also the largest scaled element of each row; with `before` each block times the one before.
    Scales of rows are APART from each other, or next to each other where that is 0."""
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    m, n, k = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.full((BM, BN), BIAS, tl.float32)
    peak = tl.zeros((BM,), tl.float32)
    before = tl.full((BM, BN), 1.0, tl.float32)
    for counter in range(first, last, STEP):
        block = counter - START
        a = tl.load(a_ptr + m[:, None] * K + (block * BK + k)[None, :])
        b = tl.load(b_ptr + n[None, :] * K + (block * BK + k)[:, None])
        of_row = tl.load(
            rows_ptr + (m * APART + block if APART else block * tl.num_programs(0) * BM + m)
        )
        of_column = tl.load(columns_ptr + block * N + n)
        now = tl.dot(a, b).to(tl.float32) * of_row[:, None] * of_column[None, :]
        if USE == "twice":
            peak = tl.maximum(peak, tl.max(now, 1))
        if USE == "before":
            acc += now * before
            before = now
        else:
            acc += now
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)
    if pid_n == 0:
        tl.store(peak_ptr + m, peak)


def scaled(device, dtype, tile, blocks, use, start=0, **options):
    """Launch for the blocks `range(*blocks)`, counted from `start`; the results and what they must be."""
    bm, bn, bk = tile
    M, N, count = 2 * bm, bn, 12
    K = count * bk
    a, b = random((M, K), dtype, 1), random((N, K), dtype, 2)
    rows, columns = random((count, M), "fp32", 3), random((count, N), "fp32", 4)
    out, peak = device.output((M, N), "fp32"), device.output((M,), "fp32")
    scaled_kernel[(2, 1)](
        *map(device.to, (a, b, rows, columns)), out.array, peak.array, start + blocks[0], start + blocks[1], N, K,
        STEP=blocks[2], START=start, BIAS=BIAS, BM=bm, BN=bn, BK=bk, USE=use, **options,
    )  # fmt: skip
    exact, largest, before = np.full((M, N), BIAS), np.zeros(M), np.ones((M, N))
    for block in range(*blocks):
        part = slice(block * bk, (block + 1) * bk)
        now = a[:, part].astype(np.float64) @ b[:, part].astype(np.float64).T
        now *= rows[block][:, None] * columns[block][None, :]
        largest = np.maximum(largest, now.max(1)) if use == "twice" else largest
        exact += now * before if use == "before" else now
        before = now
    return (out.numpy(), exact), (peak.numpy(), largest)


def check(pairs, allowed=1e-3):
    """By default for fp8, of whose products Hopper's tensor cores keep 14 bits while they add."""
    for result, exact in pairs:
        atol = allowed * max(np.abs(exact).max(), 1)
        np.testing.assert_allclose(result, exact, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", ["fp8e4nv", "i8", "fp16"])
@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 4, 5, 8, 9])
def test_any_number_of_iterations(device, dtype, iterations):
    """None, an odd and an even number of them: the expanded loop runs pairs."""
    bk = 128 // np.dtype(DTYPES[dtype]).itemsize
    blocks = (2, 2 + iterations, 1)
    allowed = 1e-3 if dtype == "fp8e4nv" else 1e-4
    check(scaled(device, dtype, (64, 64, bk), blocks, "once", **DEEP), allowed)


@pytest.mark.parametrize("use", ["twice", "before"])
@pytest.mark.parametrize("blocks", [(0, 12, 1), (1, 12, 3), (3, 12, 5), (5, 3, 1)])
def test_results_are_read_twice(device, blocks, use):
    options = {**DEEP, "num_stages": 8}
    check(scaled(device, "fp8e4nv", (64, 32, 128), blocks, use, **options))


@pytest.mark.parametrize("blocks", [(0, 10, 1), (0, 10, 3), (1, 10, 4), (9, 10, 7), (2, 10, 7)])
def test_largest_counters(device, blocks):
    """The counter after the last one does not fit 32 bits."""
    start = 2**31 - 1 - blocks[1]
    check(scaled(device, "fp8e4nv", (64, 64, 128), blocks, "once", start, **DEEP))


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("bm,bn,warps", [(128, 128, 8), (64, 128, 4), (128, 64, 4), (128, 32, 8)])
def test_stages_and_tiles(device, bm, bn, warps, stages):
    options = {**DEEP, "num_warps": warps, "num_stages": stages}
    check(scaled(device, "fp8e4nv", (bm, bn, 128), (0, 7, 1), "once", **options))


@triton.jit
def gated_kernel(
    x_ptr, gate_ptr, up_ptr, scales_ptr, out_ptr, middle, last, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Two dots per iteration, whose results are multiplied; then a loop with one over further blocks."""
    m, n, k = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for block in range(0, middle):
        x = tl.load(x_ptr + m[:, None] * K + (block * BK + k)[None, :])
        gate = tl.load(gate_ptr + n[None, :] * K + (block * BK + k)[:, None])
        up = tl.load(up_ptr + n[None, :] * K + (block * BK + k)[:, None])
        acc += tl.dot(x, gate) * tl.dot(x, up) * tl.load(scales_ptr + block)
    for block in range(middle, last):
        x = tl.load(x_ptr + m[:, None] * K + (block * BK + k)[None, :])
        up = tl.load(up_ptr + n[None, :] * K + (block * BK + k)[:, None])
        acc += tl.maximum(tl.dot(x, up), 0.0) * tl.load(scales_ptr + block)
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("middle,last", [(5, 8), (0, 3), (4, 4), (1, 2), (6, 7)])
def test_two_dots_and_two_loops(device, middle, last):
    M, N, bk, count = 64, 128, 64, 8
    K = count * bk
    x, gate, up = (random((rows, K), "fp16", rows + i) / 8 for i, rows in enumerate((M, N, N)))
    scales, out = random((count,), "fp32", 5), device.output((M, N), "fp32")
    gated_kernel[(2,)](
        *map(device.to, (x, gate, up, scales)), out.array, middle, last, N, K,
        BM=M, BN=64, BK=bk, **{**DEEP, "num_stages": 4},
    )  # fmt: skip
    x, gate, up = (each.astype(np.float64).reshape(-1, count, bk) for each in (x, gate, up))
    exact = np.zeros((M, N))
    for block in range(last):
        raised = x[:, block] @ up[:, block].T
        other = x[:, block] @ gate[:, block].T
        exact += scales[block] * (raised * other if block < middle else np.maximum(raised, 0))
    check([(out.numpy(), exact)])
