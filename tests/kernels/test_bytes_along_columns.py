"""Dots of bytes whose right operand is contiguous along its columns, as a row-major matrix is.

wgmma reads bytes along K alone, so the tile arrives in one buffer, and threads turn it on its way to
another one. int8 sums are exact. Of fp8 (e4m3, e5m2) Hopper's tensor cores keep 13 bits of fraction of each sum of
32 products and what came before; elsewhere sums are those of fp32.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def product_kernel(
    a, b, c, sums, M, N, K, WAY: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """A B, rows of N; `sums` are those of the columns of B."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    kind: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    acc, total = tl.zeros((BM, BN), kind), tl.zeros((BN,), kind)
    for start in tl.range(0, K, BK, num_stages=STAGES):
        k = start + tl.arange(0, BK)
        x = tl.load(
            a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0
        )
        y = tl.load(
            b + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0
        )
        if WAY == "transposed":
            acc += tl.dot(tl.trans(y), tl.trans(x), out_dtype=kind).T
        else:
            acc = tl.dot(x, y, acc, out_dtype=kind)
        if WAY == "read":
            total += tl.sum(y.to(kind), 0)
        elif WAY == "twice":
            acc = tl.dot(x, y, acc, out_dtype=kind)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])
    if WAY == "read":
        tl.store(sums + n, total, mask=n < N)


def check(device, way, dtype, bm, bn, bk, warps, stages, sizes=((1, 1, 3), (2, 2, 0)), **choices):
    """Checks each element; the last compiled kernel."""
    for tiles_m, tiles_n, steps in sizes:
        m, n, k = tiles_m * bm - 8, tiles_n * bn - 16, steps * bk + 16
        if dtype == "i8":
            rng = np.random.default_rng(bk + n)
            a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
        else:
            a, b = random((m, k), dtype, seed=bk), random((k, n), dtype, seed=n)
        kind = "i32" if dtype == "i8" else "fp32"
        c, sums = device.output((m, n), kind), device.output((n,), kind)
        compiled = product_kernel[(tiles_m, tiles_n)](
            device.to(a), device.to(b), c.array, sums.array, m, n, k, way, bm, bn, bk, stages,
            num_warps=warps, **choices,
        )  # fmt: skip
        wide = [x.astype(np.float64) for x in (a, b)]
        times = 2 if way == "twice" else 1
        want = times * (wide[0] @ wide[1])
        kept = times * -(-k // 32) * 2.0**-13 if device.on_gpu else 2.0**-16
        bound = {"i8": 0, "fp32": 2.0**-9}.get(dtype, kept)
        size = times * (np.abs(wide[0]) @ np.abs(wide[1]))
        assert (np.abs(c.numpy() - want) <= bound * size).all()
        if way == "read":
            np.testing.assert_allclose(
                sums.numpy(), wide[1].sum(0), rtol=1e-4, atol=0 if dtype == "i8" else 1e-3
            )
    return compiled


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("way", ["plain", "read", "twice", "transposed"])
@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv", "fp8e5"])
def test_ways(device, dtype, way, stages):
    """Read by threads, by two dots, or on the left of the dot."""
    check(device, way, dtype, 64, 64, 64, 4, stages)


@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv"])
@pytest.mark.parametrize(
    "bm, bn, bk, warps",
    [
        (64, 16, 32, 4), (64, 32, 64, 4), (64, 128, 128, 4), (128, 128, 64, 8), (128, 256, 128, 8),
        (64, 256, 32, 4), (128, 64, 256, 8), (256, 128, 128, 16), (64, 96, 64, 4), (192, 64, 64, 12),
    ],
)  # fmt: skip
def test_tiles(device, dtype, bm, bn, bk, warps):
    """Words and vectors, tiles that a thread holds little or much of, and of no power of two."""
    check(device, "plain", dtype, bm, bn, bk, warps, 3)


@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv", "fp32"])
def test_stream_k(device, dtype):
    """Tiles whose iterations several CTAs share, each with a buffer of its own to turn B in."""
    sizes = ((3, 3, 9), (3, 7, 21))
    block = (64, 64, 32 if dtype == "fp32" else 64)
    compiled = check(
        device, "plain", dtype, *block, 4, 3, sizes, enabled_passes="nv-stream-k"
    )  # fmt: skip
    if compiled and "sm_90a" in compiled.asm.get("ptx", ""):
        assert any("split over CTAs" in remark.message for remark in compiled.remarks)
