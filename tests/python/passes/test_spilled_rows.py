"""Rows that fill the registers of a CTA: on the GPU half of them is spilled to shared memory."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def softmax_kernel(out_ptr, x_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


@pytest.mark.parametrize("num_warps, cols", [(8, 65536), (16, 40001), (32, 65536)])
def test_softmax(device, num_warps, cols):
    """The softmax of a row that is spilled is that of float64."""
    x = random((2, cols), "fp32", num_warps)
    out = device.to(np.full((2, cols), np.nan, dtype=np.float32))
    softmax_kernel[(2,)](out, device.to(x), cols, BLOCK=65536, num_warps=num_warps)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-10)


@triton.jit
def norm_kernel(y_ptr, x_ptr, w_ptr, mean_ptr, cols, BLOCK: tl.constexpr):
    """The centred row is held over a sum of its squares, the row itself over a sum of it."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    tl.store(mean_ptr + row, mean)
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / cols + 1e-5)
    w = tl.load(w_ptr + c, mask=mask)
    tl.store(y_ptr + row * cols + c, centred * rstd * w + x, mask=mask)


def test_norm(device):
    """The norm of a row that is spilled is that of float64."""
    cols = 65536 - 24
    x, w = random((2, cols), "fp16", 1), random((cols,), "fp32", 2)
    y = device.to(np.full((2, cols), np.nan, dtype=np.float32))
    mean = device.to(np.full(2, np.nan, dtype=np.float32))
    args = (y, device.to(x), device.to(w), mean, cols)
    norm_kernel[(2,)](*args, BLOCK=65536, num_warps=32)
    wide = x.astype(np.float64)
    means = wide.mean(axis=1, keepdims=True)
    normal = (wide - means) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(device.numpy(mean), means[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(device.numpy(y), normal * w + wide, rtol=1e-4, atol=1e-4)


@triton.jit
def gradient_kernel(dx_ptr, y_ptr, dy_ptr, sums_ptr, cols, BLOCK: tl.constexpr):
    """Two rows are held over a sum of their products, and one of them over another sum."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    y = tl.load(y_ptr + row * cols + c, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * cols + c, mask=mask, other=0.0)
    dx = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(sums_ptr + row, tl.sum(dx * dx + tl.abs(y), axis=0))
    tl.store(dx_ptr + row * cols + c, dx * tl.abs(dy) + y, mask=mask)


@pytest.mark.parametrize("num_warps, cols", [(8, 32768), (16, 32001), (32, 32768)])
def test_gradient(device, num_warps, cols):
    """The gradient of softmax over spilled rows is that of float64."""
    y, dy = random((2, cols), "fp32", num_warps) / 64, random((2, cols), "fp32", 7)
    dx = device.to(np.full((2, cols), np.nan, dtype=np.float32))
    sums = device.to(np.full(2, np.nan, dtype=np.float32))
    args = (dx, device.to(y), device.to(dy), sums, cols)
    gradient_kernel[(2,)](*args, BLOCK=32768, num_warps=num_warps)
    a, b = y.astype(np.float64), dy.astype(np.float64)
    own = a * (b - (a * b).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(device.numpy(dx), own * np.abs(b) + a, rtol=1e-4, atol=1e-4)
    expected = (own * own + np.abs(a)).sum(axis=1)
    np.testing.assert_allclose(device.numpy(sums), expected, rtol=1e-4)


@triton.jit
def overwritten_kernel(out_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    """The row waits to stand in for elements that are overwritten after their load."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    total = tl.sum(x, axis=0)
    y = tl.load(y_ptr + i, mask=i // 4 % 3 == 0, other=x)
    tl.store(y_ptr + i, total + i)
    tl.store(out_ptr + i, y * 2 + total)


def test_loads_before_they_are_overwritten(device):
    count = 16384
    x, y = random((count,), "fp32", 1), random((count,), "fp32", 2)
    out = device.to(np.full(count, np.nan, dtype=np.float32))
    overwritten_kernel[(1,)](out, device.to(x), device.to(y.copy()), BLOCK=count, num_warps=2)
    total = x.astype(np.float64).sum()
    expected = np.where(np.arange(count) // 4 % 3 == 0, y, x) * 2.0 + total
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-4, atol=1e-3)
