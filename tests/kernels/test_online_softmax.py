"""Softmax over rows of any length: online, in three passes, over programs, masked; backward.

The backward kernel is fused; log-softmax works on columns, along a dimension that is not the last.
fp32 within 1e-6 of probabilities, 16-bit within their rounding.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _combine(m_a, d_a, m_b, d_b):
    m = tl.maximum(m_a, m_b)
    return m, d_a * tl.exp(m_a - m) + d_b * tl.exp(m_b - m)


@triton.jit
def online_softmax_kernel(
    out_ptr, in_ptr, temperature_ptr, n_cols, TILE: tl.constexpr, FEW_TILES: tl.constexpr
):
    """Maximum and sum in one walk, a lane each; joined by a reduction over pairs."""
    row = tl.program_id(0)
    in_ptr += row * n_cols
    out_ptr += row * n_cols
    scale = 1.0 / tl.load(temperature_ptr + row)
    if FEW_TILES:
        cols = tl.arange(0, TILE)
        x = tl.load(in_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32) * scale
        x = tl.exp(x - tl.max(x, 0))
        tl.store(out_ptr + cols, x / tl.sum(x, 0), mask=cols < n_cols)
    else:
        m = tl.full([TILE], value=-1e30, dtype=tl.float32)
        z = tl.full([TILE], value=0.0, dtype=tl.float32)
        for start in range(0, n_cols, TILE):
            cols = start + tl.arange(0, TILE)
            x = (
                tl.load(in_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
                * scale
            )
            m_new = tl.maximum(m, x)
            z = z * tl.exp(m - m_new) + tl.exp(x - m_new)
            m = m_new
        best, total = tl.reduce((m, z), 0, _combine)
        for start in range(0, n_cols, TILE):
            # From the end: the last blocks are still in the cache.
            cols = (tl.cdiv(n_cols, TILE) * TILE - TILE - start) + tl.arange(0, TILE)
            x = tl.load(
                in_ptr + cols,
                mask=cols < n_cols,
                other=-float("inf"),
                eviction_policy="evict_first",
            )
            tl.store(
                out_ptr + cols, tl.exp(x.to(tl.float32) * scale - best) / total, mask=cols < n_cols
            )


@triton.jit
def split_stats_kernel(m_ptr, d_ptr, x_ptr, n_cols, n_parts, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    m = tl.max(x, 0)
    tl.store(m_ptr + row * n_parts + part, m)
    tl.store(d_ptr + row * n_parts + part, tl.sum(tl.exp(x - m), 0))


@triton.jit
def split_apply_kernel(
    out_ptr, m_ptr, d_ptr, x_ptr, n_cols, n_parts, BLOCK: tl.constexpr, PARTS: tl.constexpr
):
    row, part = tl.program_id(0), tl.program_id(1)
    parts = tl.arange(0, PARTS)
    m = tl.load(m_ptr + row * n_parts + parts, mask=parts < n_parts, other=-float("inf"))
    d = tl.load(d_ptr + row * n_parts + parts, mask=parts < n_parts, other=0.0)
    best = tl.max(m, 0)
    total = tl.sum(d * tl.exp(m - best), 0)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
    tl.store(out_ptr + row * n_cols + cols, tl.exp(x - best) / total, mask=cols < n_cols)


@triton.jit
def masked_softmax_kernel(
    out_ptr, x_ptr, mask_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr
):
    """Rows that are masked off altogether give zeros."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    inside = (rows < n_rows) & (cols < n_cols)
    at = rows * n_cols + cols
    keep = tl.load(mask_ptr + at, mask=inside, other=0).to(tl.int1)
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    x = tl.where(keep, x, float("-inf"))
    best = tl.max(x, axis=1, keep_dims=True)
    best = tl.where(best == float("-inf"), 0.0, best)
    e = tl.where(keep, tl.exp(x - best), 0.0)
    total = tl.sum(e, axis=1, keep_dims=True)
    tl.store(out_ptr + at, tl.where(total > 0, e / total, 0.0), mask=inside)


@triton.jit
def softmax_backward_kernel(
    dx_ptr, dy_ptr, y_ptr, n_cols, BLOCK: tl.constexpr, LOG: tl.constexpr = False
):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    dx = dy - tl.exp(y) * tl.sum(dy, 0) if LOG else y * (dy - tl.sum(y * dy, 0))
    tl.store(dx_ptr + row * n_cols + cols, dx, mask=mask)


@triton.jit
def log_softmax_columns_kernel(
    out_ptr, x_ptr, M, N, K, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    """Along the middle of (M, N, K), a block of neighbouring columns at a time."""
    m = tl.program_id(0)
    k = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    n = tl.arange(0, BLOCK_N)
    at = m * N * K + n[:, None] * K + k[None, :]
    mask = (n[:, None] < N) & (k[None, :] < K)
    x = tl.load(x_ptr + at, mask=mask, other=-float("inf"))
    x -= tl.max(x, 0)[None, :]
    x -= tl.log(tl.sum(tl.exp(x), 0))[None, :]
    tl.store(out_ptr + at, x, mask=mask)


def softmax(x, axis=-1):
    x = x.astype(np.float64)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("n, tile", [(100, 128), (1000, 128), (777, 256)])
def test_online(device, dtype, n, tile):
    """The online softmax of a row of any length, with a temperature, is that of float64."""
    rows, n = (200, n * 9) if device.on_gpu else (5, n)
    tile = triton.next_power_of_2(n) if tile >= n else tile
    x = random((rows, n), dtype, 1)
    temperature = random(rows, "fp32", 2) ** 2 + 0.5
    out = device.output((rows, n), "fp32")
    online_softmax_kernel[(rows,)](
        out.array, device.to(x), device.to(temperature), n, TILE=tile, FEW_TILES=tile >= n
    )
    expected = softmax(x.astype(np.float64) / temperature[:, None])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("n, block", [(1000, 256), (255, 64)])
def test_over_programs(device, n, block):
    rows, parts = 3, triton.cdiv(n, block)
    x = random((rows, n), "fp32", 3) * 5
    m, d, out = (
        device.output((rows, parts), "fp32"),
        device.output((rows, parts), "fp32"),
        device.output((rows, n), "fp32"),
    )
    d_x = device.to(x)
    split_stats_kernel[(rows, parts)](m.array, d.array, d_x, n, parts, BLOCK=block)
    split_apply_kernel[(rows, parts)](
        out.array, m.array, d.array, d_x, n, parts, BLOCK=block, PARTS=triton.next_power_of_2(parts)
    )
    np.testing.assert_allclose(out.numpy(), softmax(x), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("shape", [(9, 100), (4, 17)])
def test_masked(device, shape):
    """Masked elements get zero, and a row without any others is zero."""
    x, keep = random(shape, "fp16", 4), random(shape, "i1", 5)
    keep[2] = False
    out = device.output(shape, "fp16")
    masked_softmax_kernel[(triton.cdiv(shape[0], 4),)](
        out.array,
        device.to(x),
        device.to(keep),
        *shape,
        ROWS=4,
        COLS=triton.next_power_of_2(shape[1]),
    )
    e = np.where(keep, np.exp(x.astype(np.float64)), 0)
    total = e.sum(axis=1, keepdims=True)
    expected = e / np.where(total == 0, 1, total)
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("log", [False, True])
def test_backward(device, log):
    """The gradients of softmax and log-softmax are those of float64."""
    shape = (6, 333)
    y, dy = softmax(random(shape, "fp32", 6)), random(shape, "fp32", 7)
    y = np.log(y) if log else y
    dx = device.output(shape, "fp32")
    softmax_backward_kernel[(shape[0],)](
        dx.array, device.to(dy), device.to(y.astype(np.float32)), shape[1], 512, LOG=log
    )
    if log:
        expected = dy - np.exp(y) * dy.sum(axis=1, keepdims=True)
    else:
        expected = y * (dy - (y * dy).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(dx.numpy(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 50, 70), (2, 7, 1)])
def test_along_columns(device, shape):
    x = random(shape, "fp32", 8)
    out = device.output(shape, "fp32")
    log_softmax_columns_kernel[(shape[0], triton.cdiv(shape[2], 32))](
        out.array, device.to(x), *shape, BLOCK_N=triton.next_power_of_2(shape[1]), BLOCK_K=32
    )
    np.testing.assert_allclose(out.numpy(), np.log(softmax(x, axis=1)), rtol=1e-4, atol=1e-5)
