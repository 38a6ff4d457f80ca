"""GEMMs that stream-K splits although each iteration adds more to the sum than its dot alone.

Scales of rows and columns for each block of K, packed weights, gathered rows. Results against
float64; on Hopper the bits show that tiles were split, and are the same each time.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

SPLIT, WHOLE = {"enabled_passes": "nv-stream-k"}, {"disabled_passes": "nv-stream-k"}
B = 64


@triton.jit
def scaled(
    a, b, row_scales, column_scales, table, c, M, N, K, WAY: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    """The sum over blocks of K of dots times the scales of that block, plus what WAY says."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    within = tl.arange(0, B)
    taken = rows
    if WAY == "gathered":
        taken = tl.load(table + rows, mask=rows < M, other=0)
    acc = tl.zeros((B, B), tl.float32)
    peak = tl.zeros((B, B), tl.float32)
    for block in range(0, tl.cdiv(K, B)):
        k = block * B + within
        mask = (rows < M)[:, None] & (k < K)[None, :]
        x = tl.load(a + taken[:, None] * K + k[None, :], mask=mask, other=0.0)
        y = tl.load(b + k[:, None] * N + columns[None, :], mask=(k < K)[:, None], other=0.0)
        r = tl.load(row_scales + rows * tl.cdiv(K, B) + block, mask=rows < M, other=0.0)
        s = tl.load(column_scales + block * N + columns)
        part = tl.dot(x, y) * r[:, None] * s[None, :]
        if WAY == "on the left":
            acc = part + acc
        elif WAY == "two summands":
            acc = acc + (part + s[None, :])
        elif WAY == "two additions":
            acc = (acc + part) + s[None, :]
        elif WAY == "subtracted":
            acc = acc - part
        elif WAY == "twice":
            acc += acc * 0.25 + part
        elif WAY == "watched":
            acc += part
            peak = tl.maximum(peak, acc)
        else:
            acc += part
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * N + columns[None, :], acc + peak, mask=inside)


def expected_of(way, a, b, row_scales, column_scales):
    a, b, r, s = (x.astype(np.float64) for x in (a, b, row_scales, column_scales))
    acc, peak = np.zeros((len(a), b.shape[1])), np.zeros((len(a), b.shape[1]))
    for block in range(r.shape[1]):
        at = slice(block * B, (block + 1) * B)
        part = a[:, at] @ b[at] * r[:, block, None] * s[block]
        if way.startswith("two"):
            part = part + s[block]
        if way == "twice":
            acc *= 1.25
        acc = acc - part if way == "subtracted" else acc + part
        peak = np.maximum(peak, acc)
    return acc + peak if way == "watched" else acc


SPLITTABLE = ["plain", "on the left", "two summands", "gathered"]


@pytest.mark.parametrize("shape", [(128, 128, 2560), (320, 64, 4880), (60, 64, 6400)])
@pytest.mark.parametrize("way", [*SPLITTABLE, "two additions", "subtracted", "twice", "watched"])
def test_scaled_sums(device, way, shape):
    M, N, K = shape
    blocks = -(-K // B)
    blocks = blocks // 8 if way == "twice" else blocks  # it grows by a quarter each time
    K = min(K, blocks * B)
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    scales = random((M, blocks), "fp32", 3), random((blocks, N), "fp32", 4)
    table = np.random.default_rng(5).permutation(M).astype(np.int32)
    results = []
    for options in (SPLIT, SPLIT, WHOLE):
        out = device.output((M, N), "fp32")
        kernel = scaled[(triton.cdiv(M, B), triton.cdiv(N, B))](
            *map(device.to, (a, b, *scales, table)), out.array, M, N, K, way, B,
            num_stages=3, num_warps=4, **options,
        )  # fmt: skip
        results.append(out.numpy())
    wide = expected_of(way, a[table] if way == "gathered" else a, b, *scales)
    for result in results:
        np.testing.assert_allclose(result, wide, rtol=2e-3, atol=2e-2 * np.sqrt(K / 64))
    np.testing.assert_array_equal(results[0], results[1])
    if device.name == "emulated" and device.arch == 90 and way in SPLITTABLE:
        assert (results[0] != results[2]).any(), [r.message for r in kernel.remarks]
    if device.arch and way not in (*SPLITTABLE, "two additions"):
        np.testing.assert_array_equal(results[0], results[2])


@triton.jit
def unpacked(a, b, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two signed weights of 4 bits a byte, row 2i in the low ones; a scale for each BK rows."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    half = tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows < M)[:, None], other=0.0)
        packed = tl.load(b + (start // 2 + half)[:, None] * N + columns[None, :])
        low, high = (packed << 4).to(tl.int8) >> 4, packed.to(tl.int8) >> 4
        both = tl.join(low.to(x.dtype), high.to(x.dtype))
        y = tl.reshape(tl.permute(both, (0, 2, 1)), (BK, BN))
        acc += tl.dot(x, y) * tl.load(scales + start // BK * N + columns)[None, :]
    at = rows[:, None] * N + columns[None, :]
    tl.store(c + at, acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("enabled", ["nv-stream-k", "nv-stream-k,computed-operands"])
@pytest.mark.parametrize("block", [(16, 64), (64, 64), (32, 128)])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_unpacked_weights(device, dtype, block, enabled):
    M, N, K, BK = 24, 128, 6400, 128
    a, q = random((M, K), dtype, 6), random((K, N), "i8", 7, low=-8, high=8)
    scales, bits = random((K // BK, N), "fp32", 8), q.view(np.uint8) & 15
    results = []
    for options in ({"enabled_passes": enabled}, WHOLE):
        out = device.output((M, N), "fp32")
        unpacked[(triton.cdiv(M, block[0]), triton.cdiv(N, block[1]))](
            device.to(a), device.to(bits[::2] | (bits[1::2] << 4)), device.to(scales), out.array,
            M, N, K, *block, BK, num_stages=3, num_warps=4, **options,
        )  # fmt: skip
        results.append(out.numpy())
    wide = a.astype(np.float64) @ (q * scales.astype(np.float64).repeat(BK, 0))
    for result in results:
        np.testing.assert_allclose(result, wide, rtol=1e-4, atol=1e-4 * np.sqrt(K))
    if device.name == "emulated" and device.arch == 90:
        assert (results[0] != results[1]).any()


@triton.jit
def paced(
    a, b, s, table, c, N, K, BEGIN: tl.constexpr, PACE: tl.constexpr, GATHERS: tl.constexpr,
    B: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The sum from BEGIN on; the scales of a block are PACE elements after those of the last one."""
    rows, kk = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, BK)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    taken = tl.load(table + rows) if GATHERS else rows
    acc = tl.zeros((B, B), tl.float32)
    b_ptrs = b + (BEGIN + kk)[:, None] * N + columns[None, :]
    scales = s + columns
    for start in range(BEGIN, K, BK):
        x = tl.load(a + taken[:, None] * K + (start + kk)[None, :])
        acc += tl.dot(x, tl.load(b_ptrs)) * tl.load(scales)[None, :]
        b_ptrs += BK * N
        scales += PACE
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@pytest.mark.parametrize("options", [SPLIT, {}, {"disabled_passes": "tile-count-from-zero"}])
@pytest.mark.parametrize("begin, depth", [(0, 6400), (32, 6432), (96, 6400), (64, 64), (64, 32)])
@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("pace", [1, 32, 100])
def test_pointers_at_another_pace(device, pace, gathers, begin, depth, options):
    """Loops that are numbered from zero, because of the pace of one pointer, and split then."""
    M, N, BK = 128, 64, 32
    a, b = random((M, depth), "fp16", 1), random((depth, N), "fp16", 2)
    s = random(N + pace * depth // BK, "fp32", 3)
    table = np.random.default_rng(4).permutation(M).astype(np.int32)
    out = device.output((M, N), "fp32")
    paced[(2, 1)](
        *map(device.to, (a, b, s, table)), out.array, N, depth, begin, pace, gathers, B, BK,
        num_stages=3, num_warps=4, **options,
    )  # fmt: skip
    x, y, wide = a.astype(np.float64), b.astype(np.float64), np.zeros((M, N))
    x = x[table] if gathers else x
    for i, k in enumerate(range(begin, depth, BK)):
        scale = s[i * pace : i * pace + N].astype(np.float64)
        wide += x[:, k : k + BK] @ y[k : k + BK] * scale
    np.testing.assert_allclose(out.numpy(), wide, rtol=2e-3, atol=2e-2 * np.sqrt(depth / 64))
