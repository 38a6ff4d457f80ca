"""Rows that a program prefetches to L2 for a later one, never beyond an array."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def norm_kernel(x_ptr, y_ptr, w_ptr, stride, n, BLOCK: tl.constexpr):
    """The layer norm of a row; a program prefetches the row four megabytes after it."""
    at = tl.program_id(0) * stride
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + at + cols, mask=mask, other=0.0).to(tl.float32)
    x = tl.where(mask, x - tl.sum(x, axis=0) / n, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(x * x, axis=0) / n + 1e-5)
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + at + cols, x * rstd * w, mask=mask)


def norm(x, w):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(wide.var(axis=-1, keepdims=True) + 1e-5) * w


# Rows of 64 KiB: every program but the last 64 prefetches, the last of them the last row.
@pytest.mark.parametrize(
    "rows, n, stride, block, dtype, num_warps",
    [
        (67, 16384, 16384, 16384, "fp32", 16),
        (66, 16200, 16200, 16384, "fp32", 8),  # rows that end within a line
        (65, 9001, 9001, 16384, "fp32", 8),  # and begin within one
        (66, 16390, 16392, 32768, "fp16", 4),
        (3, 16384, 16384, 16384, "fp32", 8),  # none exists
        (514, 2047, 2047, 2048, "fp32", 1),  # rows of 8 KiB; several programs per CTA
    ],
)
def test_norm_of_prefetched_rows(device, rows, n, stride, block, dtype, num_warps):
    """Rows that another program prefetches are normalised as float64 does."""
    x, w = random((rows * stride,), dtype, rows), random((n,), "fp32", 2)
    x = x[: (rows - 1) * stride + n]  # the last row is not padded
    y = device.to(np.full(rows * stride, np.nan, dtype=np.float32))
    args = (device.to(x), y, device.to(w), stride, n)
    norm_kernel[(rows,)](*args, BLOCK=block, num_warps=num_warps)
    result = device.numpy(y).reshape(rows, stride)
    for row in range(rows):
        expected = norm(x[row * stride : row * stride + n], w)
        np.testing.assert_allclose(result[row, :n], expected, rtol=2e-5, atol=2e-5)


@triton.jit
def maxima_kernel(x_ptr, y_ptr, count, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Several rows per program, of a matrix for each number along the second axis."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    at = (tl.program_id(1) * count + r[:, None]) * n + cols[None, :]
    mask = (r[:, None] < count) & (cols[None, :] < n)
    x = tl.load(x_ptr + at, mask=mask, other=-float("inf"))
    tl.store(y_ptr + at, x - tl.max(x, axis=1)[:, None], mask=mask)


def test_several_rows_in_each_of_several_matrices(device):
    matrices, count, n = 2, 4 * 33 - 1, 4001
    x = random((matrices, count, n), "fp32", 3)
    y = device.to(np.full(x.shape, np.nan, dtype=np.float32))
    maxima_kernel[(33, matrices)](device.to(x), y, count, n, ROWS=4, BLOCK=8192, num_warps=8)
    np.testing.assert_array_equal(device.numpy(y), x - x.max(axis=2, keepdims=True))


@triton.jit
def sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Of a row counted from the end, so that a later program's lies in front."""
    row = tl.num_programs(0) - 1 - tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))


def test_rows_from_the_end(device):
    x = random((67, 12345), "fp32", 4)
    y = device.to(np.full(67, np.nan, dtype=np.float32))
    sum_kernel[(67,)](device.to(x), y, 12345, BLOCK=16384, num_warps=8)
    np.testing.assert_allclose(
        device.numpy(y), x.astype(np.float64).sum(axis=1), rtol=1e-5, atol=1e-2
    )


@triton.jit
def walk_kernel(x_ptr, y_ptr, scale_ptr, rows, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Rows less their maximum, and what is added to columns, by programs that walk."""
    cols = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
        tl.store(y_ptr + row * n + cols, x - tl.max(x, axis=0), mask=cols < n)
        total += x
    tl.store(scale_ptr + tl.program_id(0) * n + cols, total, mask=cols < n)


# The last iterations prefetch nothing.
@pytest.mark.parametrize("programs, rows", [(3, 11), (1, 5), (4, 3), (70, 71)])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_walks(device, programs, rows, stages):
    """Programs that walk over rows, and prefetch the next, see each row once."""
    n, block = (4001, 4096) if programs < 70 else (1000, 1024)
    x = random((rows, n), "fp32", rows)
    y, sums = (
        device.to(np.full((count, n), np.nan, dtype=np.float32)) for count in (rows, programs)
    )
    args = (device.to(x), y, sums, rows, n)
    walk_kernel[(programs,)](*args, BLOCK=block, STAGES=stages, num_warps=4)
    np.testing.assert_array_equal(device.numpy(y), x - x.max(axis=1, keepdims=True))
    wide = x.astype(np.float64)
    expected = np.stack([wide[p::programs].sum(axis=0) for p in range(programs)])
    np.testing.assert_allclose(device.numpy(sums), expected, rtol=1e-5, atol=1e-5)
