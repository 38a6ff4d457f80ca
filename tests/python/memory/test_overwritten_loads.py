"""Loads whose memory the same program overwrites, while their values are still used."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def count_kernel(count_ptr, out_ptr, N: tl.constexpr):
    """Every element sees the count of before."""
    count = tl.load(count_ptr)
    tl.store(count_ptr, count + 1)
    tl.store(out_ptr + tl.arange(0, N), count + tl.arange(0, N))


@triton.jit
def rows_kernel(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, CLEAR: tl.constexpr):
    """Adds a value a row, of which several warps hold copies, and overwrites it first."""
    m = tl.arange(0, M)
    at = m[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + m)
    tl.store(x_ptr + m, tl.zeros_like(x) if CLEAR else x + 1)
    tl.store(out_ptr + at, tl.load(y_ptr + at) + x[:, None])


@triton.jit
def exchange_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    """Masked elements one by one, but whole vectors to overwrite them."""
    i = tl.arange(0, N)
    old = tl.load(x_ptr + i, mask=i % 3 == 0, other=-1.0)
    tl.store(x_ptr + i, tl.load(y_ptr + i))
    tl.store(out_ptr + i, old)


@triton.jit
def turned_kernel(p_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    """Each element is loaded where memory is read well, and stored where the other operand is."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    at = p_ptr + m[:, None] * N + n[None, :]
    x = tl.load(x_ptr + m[:, None] + n[None, :] * M)
    tl.store(at, x + tl.load(at))


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8])
def test_counts(device, num_warps):
    """Every thread sees the number from before it was overwritten."""
    size = 64 * num_warps
    count, out = device.to(np.array([5], np.int32)), device.output(size, "i32")
    count_kernel[(1,)](count, out.array, N=size, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), 5 + np.arange(size))


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(32, 32), (64, 16), (16, 64)])
@pytest.mark.parametrize("clear", [False, True])
def test_overwritten_rows(device, shape, num_warps, clear):
    """A row that is overwritten keeps its loaded values."""
    x, y = random(shape[0], "fp32"), random(shape, "fp32")
    out = device.output(shape, "fp32")
    m, n = shape
    rows_kernel[(1,)](
        device.to(x.copy()), device.to(y), out.array, m, n, clear, num_warps=num_warps
    )
    np.testing.assert_array_equal(out.numpy(), y + x[:, None])


@pytest.mark.parametrize("num_warps", [2, 4])
@pytest.mark.parametrize("size", [1024, 16384])
def test_exchanges(device, size, num_warps):
    """Elements that neighbours overwrite keep their loaded values."""
    x, y, out = random(size, "fp32"), random(size, "fp32"), device.output(size, "fp32")
    where = device.to(x.copy())
    exchange_kernel[(1,)](where, device.to(y), out.array, N=size, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), np.where(np.arange(size) % 3 == 0, x, -1.0))


@pytest.mark.parametrize("num_warps", [1, 2, 4])
@pytest.mark.parametrize("shape", [(2, 16), (4, 8), (16, 2), (8, 32), (32, 8)])
@pytest.mark.parametrize("dtype", ["i8", "fp16", "fp32"])
def test_updates_of_what_other_lanes_load(device, shape, dtype, num_warps):
    p, x = random(shape, dtype), random(shape[::-1], dtype)
    out = device.to(p.copy())
    turned_kernel[(1,)](out, device.to(x), *shape, num_warps=num_warps)
    np.testing.assert_array_equal(device.numpy(out), p + x.T)
