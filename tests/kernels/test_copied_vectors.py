"""Loops with dots whose producer copies vectors that TMA cannot load, such as scales of blocks of K.

Numbers a stride apart, or the same for several rows or columns. Results in fp32 within 2e-3 of
float64; on Hopper each loop that says so copies its vectors by warps of their own.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

PRODUCER = {"disabled_passes": "occupancy-first"}


@triton.jit
def operands(a, b, rows, columns, depth, M, N, K):
    """The tiles of A and B of a block of K."""
    x = tl.load(a + rows[:, None] * K + depth[None, :], mask=rows[:, None] < M, other=0.0)
    y = tl.load(b + depth[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
    return x, y


@triton.jit
def scaled_kernel(
    out, a, b, row_scales, column_scales, alias, M, N, K, apart, shared,
    WAY: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    STAGES: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """A times B, each block of K times a number per row, `apart` apart, and one for `shared` columns."""
    at_m, at_n, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    for t in tl.range(TILES, flatten=True):
        rows, columns = tl.program_id(0) * BM + at_m, (tl.program_id(1) * TILES + t) * BN + at_n
        if WAY == "modulo":
            rows %= M
            columns %= N
        if WAY == "stored before":
            tl.store(alias + rows * apart, tl.load(alias + rows * apart) * 2)
            tl.debug_barrier()
        acc = tl.zeros((BM, BN), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        row_ptrs = row_scales + rows * apart
        column_ptrs = column_scales + columns // shared
        groups = (N + shared - 1) // shared
        for k in tl.range(0, K, BK, num_stages=STAGES):
            x, y = operands(a, b, rows, columns, k + depth, M, N, K)
            if WAY == "carried":
                r = tl.load(row_ptrs)
                c = tl.load(column_ptrs)
            elif WAY == "masked":
                r = tl.load(row_ptrs + k // BK, mask=rows < M, other=0.0)
                c = tl.load(column_ptrs + k // BK * groups, mask=columns < N, other=0)
            elif WAY == "other":
                r = tl.load(row_ptrs + k // BK, mask=rows < M, other=1.0)
                c = tl.load(column_ptrs + k // BK * groups, mask=columns < N, other=2.0)
            elif WAY == "volatile":
                r = tl.load(row_ptrs + k // BK, volatile=True)
                c = tl.load(column_ptrs + k // BK * groups)
            else:
                r = tl.load(row_ptrs + k // BK)
                c = tl.load(column_ptrs + k // BK * groups)
            if WAY == "chained":
                acc = tl.dot(x, y, acc)
                total += r
            elif WAY == "before the dot":
                acc += tl.dot((x * r[:, None]).to(x.dtype), y) * c[None, :]
            elif WAY == "twice":
                acc += tl.dot(x, y) * r[:, None] * c[None, :] + r[:, None] * c[None, :]
            elif WAY == "branched":
                if k % (2 * BK) == 0:
                    acc += tl.dot(x, y) * r[:, None] * c[None, :]
                else:
                    acc -= tl.dot(x, y) * r[:, None] * c[None, :]
            else:
                acc += tl.dot(x, y) * r[:, None] * c[None, :]
            if WAY == "three":
                acc += tl.load(row_scales + rows * apart + apart // 2)[:, None]
            elif WAY == "stored":
                tl.store(row_ptrs + k // BK, r + 1)
            elif WAY == "stored through an alias":
                tl.store(alias + rows * apart + k // BK, r + 1)
            elif WAY == "barrier":
                tl.debug_barrier()
            if WAY == "carried":
                row_ptrs += 1
                column_ptrs += groups
        if WAY == "two loops" or WAY == "two kinds":
            for k in tl.range(0, K, BK, num_stages=STAGES):
                x, y = operands(a, b, rows, columns, k + depth, M, N, K)
                if WAY == "two kinds":
                    r = tl.load(row_ptrs + k // BK, mask=rows < M, other=0.0)
                else:
                    r = tl.load(row_ptrs + k // BK)
                c = tl.load(column_ptrs + k // BK * groups)
                acc += tl.dot(x, y) * r[:, None] * c[None, :]
        if WAY == "chained":
            acc += total[:, None]
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        tl.store(out + rows[:, None] * N + columns[None, :], acc, mask=mask)


COPIED = (
    "plain", "carried", "masked", "before the dot", "twice", "two loops", "stored through an alias",
)  # fmt: skip
OTHERS = (
    "modulo", "other", "volatile", "chained", "branched", "three", "stored", "stored before",
    "barrier", "two kinds",
)  # fmt: skip


def expected_of(way, a, b, r, c, bk):
    """In float64. `r`: rows by blocks; `c`: blocks by columns."""
    blocks = a.shape[1] // bk
    result = np.zeros((a.shape[0], b.shape[1]))
    for i in range(blocks):
        x, y = a[:, i * bk : (i + 1) * bk], b[i * bk : (i + 1) * bk]
        scales = r[:, i : i + 1] * c[i]
        if way == "before the dot":
            x = (x * r[:, i : i + 1]).astype(np.float32).astype(np.float16).astype(np.float64)
            scales = c[i]
        if way == "chained":
            result += x @ y + r[:, i : i + 1]
        else:
            result += (x @ y) * scales * (-1 if way == "branched" and i % 2 else 1)
        result += scales if way == "twice" else 0
    return 2 * result if way in ("two loops", "two kinds") else result


def run(
    device, way, bm=64, bn=64, bk=64, stages=3, warps=4, tiles=1, blocks=5, shared=16, **choices
):
    """Checks each element; the compiled kernel."""
    ragged = way in ("masked", "modulo", "other")
    m = bm if "stored" in way else 2 * bm - (8 if ragged else 0)
    n = bn if "stored" in way else 2 * bn * tiles - (16 if ragged else 0)
    k, apart, groups = blocks * bk, 2 * blocks + 3, -(-n // shared)
    a, b = random((m, k), "fp16", seed=1), random((k, n), "fp16", seed=2)
    r = np.random.default_rng(3).normal(size=(m + bm, apart)).astype(np.float32)
    c = np.random.default_rng(4).normal(size=(blocks, groups)).astype(np.float32)
    out, rows = device.output((m, n), "fp32"), device.to(r.copy())
    compiled = scaled_kernel[(triton.cdiv(m, bm), triton.cdiv(n, bn * tiles))](
        out.array, device.to(a), device.to(b), rows, device.to(c), rows, m, n, k, apart, shared,
        way, bm, bn, bk, stages, tiles, num_warps=warps, **{**PRODUCER, **choices},
    )  # fmt: skip
    wide = r.astype(np.float64)
    if way == "stored before":
        wide[:m, 0] *= 2
    of_columns = c.astype(np.float64)[:, np.arange(n) // shared]
    result = expected_of(way, a.astype(np.float64), b.astype(np.float64), wide[:m], of_columns, bk)
    if way == "three":
        result += blocks * wide[:m, apart // 2, None]
    np.testing.assert_allclose(out.numpy(), result, rtol=2e-3, atol=2e-2)
    if way in ("stored", "stored through an alias"):
        r[:m, :blocks] += 1
        np.testing.assert_array_equal(device.numpy(rows), r)
    return compiled


def copied(compiled):
    """How many vectors the producer copies; nothing where there is no producer to do it."""
    if compiled and "ptx" in compiled.asm and "sm_90a" in compiled.asm["ptx"]:
        return sum("copies this vector" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("way", [*COPIED, *OTHERS])
def test_scales(device, way, stages):
    """Both vectors are copied, if nothing forbids it."""
    vectors = copied(run(device, way, stages=stages))
    if way in COPIED and vectors is not None:
        assert vectors == (4 if way == "two loops" else 2)
    elif way in ("stored", "stored before", "barrier"):
        assert not vectors


@pytest.mark.parametrize(
    "bm, bn, warps",
    [
        (64, 16, 4),
        (64, 128, 4),
        (128, 128, 8),
        (128, 32, 4),
        (192, 64, 12),
        (64, 96, 4),
        (64, 256, 4),
    ],
)
@pytest.mark.parametrize("way", ["plain", "masked", "carried"])
def test_tiles(device, way, bm, bn, warps):
    """Vectors shorter than a warp, of several elements per lane, and of no power of two."""
    run(device, way, bm, bn, 64, 3, warps)


@pytest.mark.parametrize("choice", ["nv-stream-k", "third-cta"])
@pytest.mark.parametrize("tiles", [1, 3])
def test_other_program_maps(device, choice, tiles):
    """Several tiles per program, and tiles that CTAs split: stages and phases go on."""
    for way in ("plain", "masked"):
        run(device, way, tiles=tiles, blocks=9, enabled_passes=choice)


@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 16])
def test_iterations(device, blocks):
    """Fewer iterations than stages, odd and even."""
    for stages in (2, 4):
        run(device, "plain", stages=stages, blocks=blocks)


@pytest.mark.parametrize(
    "without",
    ["copied-vectors", "nv-overlap-results", "tma-values", "buffered-values", "nv-make-persistent"],
)
def test_without(device, without):
    """The same next to passes that are left out."""
    run(device, "plain", disabled_passes=f"occupancy-first,{without}")
    run(device, "twice", disabled_passes=f"occupancy-first,{without}")


@triton.jit
def numbers_kernel(
    out, a, b, biases, K, N, apart, B: tl.constexpr, STAGES: tl.constexpr, CAST: tl.constexpr
):  # fmt: skip
    """Integers as vectors, also from addresses that are integers."""
    at = tl.arange(0, B)
    columns = tl.program_id(0) * B + at
    acc = tl.zeros((B, B), tl.float32)
    total = tl.zeros((B,), tl.int64)
    for k in tl.range(0, K, B, num_stages=STAGES):
        x = tl.load(a + at[:, None] * K + (k + at)[None, :])
        y = tl.load(b + (k + at)[:, None] * N + columns[None, :])
        ptrs = biases + columns * apart + k // B
        if CAST:
            ptrs = ptrs.to(tl.int64, bitcast=True).to(biases.dtype, bitcast=True)
        number = tl.load(ptrs)
        acc += tl.dot(x, y) * number.to(tl.float32)[None, :]
        total += number
    tl.store(out + at[:, None] * N + columns[None, :], acc + total.to(tl.float32)[None, :])


@pytest.mark.parametrize("cast", [False, True])
@pytest.mark.parametrize("type_name", ["i32", "i64", "i16", "i8"])
def test_integers(device, type_name, cast):
    """Elements of 4 and 8 bytes are copied, from an argument that is known."""
    size, n, k, apart = 64, 128, 320, 7
    a, b = random((size, k), "fp16", seed=1), random((k, n), "fp16", seed=2)
    biases = np.random.default_rng(5).integers(-9, 9, (n, apart)).astype(f"int{type_name[1:]}")
    out = device.output((size, n), "fp32")
    compiled = numbers_kernel[(n // size,)](
        out.array,
        device.to(a),
        device.to(b),
        device.to(biases),
        k,
        n,
        apart,
        size,
        3,
        cast,
        **PRODUCER,
    )
    wide = sum(
        a[:, i * size : (i + 1) * size].astype(np.float64)
        @ b[i * size : (i + 1) * size].astype(np.float64)
        * biases[:, i]
        for i in range(k // size)
    ) + biases[:, : k // size].sum(1, dtype=np.int64)
    np.testing.assert_allclose(out.numpy(), wide, rtol=2e-3, atol=2e-2)
    if (vectors := copied(compiled)) is not None:
        assert vectors == (not cast and type_name in ("i32", "i64"))


@triton.jit
def signs_kernel(out, a, b, v, w, K, apart, B: tl.constexpr, MATRIX: tl.constexpr):
    """The sign of what masked elements are taken for."""
    at = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, B, num_stages=3):
        x = tl.load(a + at[:, None] * K + (k + at)[None, :])
        y = tl.load(b + (k + at)[:, None] * B + at[None, :])
        if MATRIX:
            places = w + at[:, None] * K + (k + at)[None, :]
            r = tl.load(places, mask=(at % 64 < 32)[:, None], other=-0.0).to(tl.float32)
        else:
            r = tl.load(v + at * apart + k // B, mask=at % 64 < 32, other=-0.0)[:, None]
        acc += tl.dot(x, y) + tl.where(1.0 / r > 0, 1.0, -1.0)
    tl.store(out + at[:, None] * B + at[None, :], acc)


@pytest.mark.parametrize("matrix", [False, True])
def test_negative_zeros(device, matrix):
    """Copies fill masked elements with positive zeros: others are not copied."""
    size, blocks, apart = 64, 3, 7
    k = size * blocks
    a, b = random((size, k), "fp16", seed=1), random((k, size), "fp16", seed=2)
    v = np.random.default_rng(3).uniform(1, 2, (size, apart)).astype(np.float32)
    w = np.random.default_rng(4).uniform(1, 2, (size, k)).astype(np.float16)
    out = device.output((size, size), "fp32")
    signs_kernel[(1,)](out.array, *map(device.to, (a, b, v, w)), k, apart, size, matrix, **PRODUCER)
    sign = np.where(np.arange(size) % 64 < 32, blocks, -blocks)[:, None]
    expected = a.astype(np.float64) @ b.astype(np.float64) + sign
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=2e-2)
