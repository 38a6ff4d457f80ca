"""Rows that no SM holds: on Hopper a cluster of CTAs runs such a program."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def softmax_kernel(out_ptr, x_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


@pytest.mark.parametrize(
    "num_warps, grid, cols", [(16, (3, 2), 131072), (32, (2, 1), 70001), (32, (1, 2), 262000)]
)
def test_softmax(device, num_warps, grid, cols):
    """The softmax of a row that a cluster shares is that of float64."""
    x = random((grid[0] * grid[1], cols), "fp32", num_warps)
    out = device.to(np.full(x.shape, np.nan, dtype=np.float32))
    block = triton.next_power_of_2(cols)
    softmax_kernel[grid](out, device.to(x), cols, BLOCK=block, num_warps=num_warps)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-10)


@triton.jit
def norm_kernel(y_ptr, x_ptr, w_ptr, mean_ptr, cols, BLOCK: tl.constexpr):
    """The mean is stored before loads, and loads come after the last reduction."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    tl.store(mean_ptr + row, tl.load(mean_ptr + row) + mean)
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / cols + 1e-5)
    w = tl.load(w_ptr + c, mask=mask)
    tl.store(y_ptr + row * cols + c, centred * rstd * w, mask=mask)


def test_norm_and_a_number_that_is_added_to(device):
    cols = 131072 - 24
    x, w = random((3, cols), "fp16", 1), random((cols,), "fp32", 2)
    before = random((3,), "fp32", 3)
    y, mean = device.to(np.full(x.shape, np.nan, dtype=np.float32)), device.to(before.copy())
    norm_kernel[(3,)](y, device.to(x), device.to(w), mean, cols, BLOCK=131072, num_warps=16)
    wide = x.astype(np.float64)
    means = wide.mean(axis=1, keepdims=True)
    normal = (wide - means) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(device.numpy(mean), before + means[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(device.numpy(y), normal * w, rtol=1e-4, atol=1e-4)


@triton.jit
def greatest_kernel(place_ptr, value_ptr, x_ptr, BLOCK: tl.constexpr):
    """Reductions of pairs, whose order matters among equals."""
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    value, place = tl.max(x, axis=0, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(place_ptr + row, place)


def test_the_first_of_the_greatest(device):
    x = np.floor(random((4, 131072), "fp32", 5) * 2)  # a few values, many times each
    place = device.to(np.full(4, -1, dtype=np.int32))
    value = device.to(np.full(4, np.nan, dtype=np.float32))
    greatest_kernel[(4,)](place, value, device.to(x), BLOCK=131072, num_warps=32)
    np.testing.assert_array_equal(device.numpy(place), x.argmax(axis=1))
    np.testing.assert_array_equal(device.numpy(value), x.max(axis=1))


@triton.jit
def turn_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Reverses a row in place, then again into another: each half is overwritten with what
    the other CTA loads."""
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK
    total = tl.sum(tl.load(y_ptr + at + c).to(tl.int32), axis=0)
    x = tl.load(x_ptr + at + c)
    tl.store(x_ptr + at + BLOCK - 1 - c, x + total.to(tl.int8))
    tl.store(y_ptr + at + c, tl.load(x_ptr + at + BLOCK - 1 - c) ^ x)


def test_ctas_keep_the_order_of_the_program(device):
    x, y = random((3, 131072), "i8", 7), random((3, 131072), "i8", 8)
    turned, other = device.to(x.copy()), device.to(y.copy())
    turn_kernel[(3,)](turned, other, BLOCK=131072, num_warps=16)
    expected = x + y.sum(axis=1, keepdims=True, dtype=np.int64).astype(np.int8)
    np.testing.assert_array_equal(device.numpy(turned), expected[:, ::-1])
    np.testing.assert_array_equal(device.numpy(other), expected ^ x)


def test_the_cluster_of_a_program(device):
    x = random((2, 131072), "fp32", 9)
    out = device.to(np.zeros_like(x))
    args = (out, device.to(x), 131072)
    kernel = softmax_kernel[(2,)](*args, BLOCK=131072, num_warps=16)
    alone = softmax_kernel[(2,)](*args, BLOCK=131072, num_warps=16, launch_cooperative_grid=True)
    if device.arch:
        assert kernel.metadata.num_ctas == (4 if 90 <= device.arch < 120 else 1)
        assert alone.metadata.num_ctas == 1, "programs that were asked to be there at once"
