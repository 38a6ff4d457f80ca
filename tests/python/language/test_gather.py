"""Gathering, histograms and the shape operations that move elements, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def gather_kernel(
    out_ptr,
    x_ptr,
    index_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    P: tl.constexpr,
    Q: tl.constexpr,
    AXIS: tl.constexpr,
):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    offsets = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(out_ptr + offsets, tl.gather(x, tl.load(index_ptr + offsets), AXIS))


@pytest.mark.parametrize(
    "shape, picks, axis",
    [
        ((16, 64), (16, 64), 1),
        ((16, 64), (16, 64), 0),
        ((8, 32), (8, 128), 1),
        ((64, 4), (2, 4), 0),
        ((4, 256), (4, 256), -1),
        ((1, 8), (1, 8), 1),
        ((128, 128), (128, 128), 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype, index_dtype", [("fp32", "i32"), ("fp16", "i64"), ("i8", "u8")])
def test_gather(device, shape, picks, axis, dtype, index_dtype):
    """Elements are gathered as by `take_along_axis`, for all types."""
    x = random(shape, dtype, seed=21)
    index = random(picks, index_dtype, seed=22, low=0, high=min(shape[axis], 256))
    out = device.output(picks, dtype)
    gather_kernel[(1,)](out.array, device.to(x), device.to(index), *shape, *picks, axis)
    expected = np.take_along_axis(x, index.astype(np.int64), axis)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def gather_row_kernel(out_ptr, x_ptr, index_ptr, N: tl.constexpr, P: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    index = tl.load(index_ptr + tl.arange(0, P))
    tl.store(out_ptr + tl.arange(0, P), x.gather(index, 0))


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("size, picks", [(16, 16), (512, 512), (1024, 32), (2, 256)])
def test_gather_of_one_row(device, size, picks, num_warps):
    x = random(size, "fp32", seed=23)
    index = random(picks, "i32", seed=24, low=0, high=size)
    out = device.output(picks, "fp32")
    gather_row_kernel[(1,)](
        out.array, device.to(x), device.to(index), size, picks, num_warps=num_warps
    )
    np.testing.assert_array_equal(out.numpy(), x[index])


@triton.jit
def gather_in_loop_kernel(out_ptr, x_ptr, index_ptr, N: tl.constexpr, turns):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    for i in range(turns):
        x = tl.gather(x, tl.load(index_ptr + i * N + offsets), 0)
    tl.store(out_ptr + offsets, x)


def test_gather_in_a_loop(device):
    x = random(256, "i32", seed=25)
    index = random((5, 256), "i32", seed=26, low=0, high=256)
    out = device.output(256, "i32")
    gather_in_loop_kernel[(1,)](out.array, device.to(x), device.to(index), 256, 5)
    for row in index:
        x = x[row]
    np.testing.assert_array_equal(out.numpy(), x)


@triton.jit
def histogram_kernel(out_ptr, x_ptr, size, N: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < size)
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=offsets < size))


@pytest.mark.parametrize("dtype", ["i32", "u8", "i64", "i8"])
@pytest.mark.parametrize("size, bins", [(1000, 64), (32, 128), (7, 2), (1024, 1)])
def test_histogram(device, size, bins, dtype):
    """The counts are NumPy's."""
    x = random(size, dtype, seed=27, low=0, high=min(bins, 127))
    out = device.output(bins, "i32")
    n = triton.next_power_of_2(size)
    histogram_kernel[(1,)](out.array, device.to(x), size, n, bins)
    np.testing.assert_array_equal(out.numpy(), np.bincount(x, minlength=bins))


@triton.jit
def histogram_sum_kernel(out_ptr, x_ptr, turns, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.zeros((BINS,), tl.int32)
    for i in range(turns):
        counts += tl.load(x_ptr + i * N + tl.arange(0, N)).histogram(BINS)
    tl.store(out_ptr + tl.arange(0, BINS), counts)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_histogram_leaves_out_what_has_no_bin(device, num_warps):
    x = random((4, 512), "i32", seed=28, low=-30, high=50)
    out = device.output(16, "i32")
    histogram_sum_kernel[(1,)](out.array, device.to(x), 4, 512, 16, num_warps=num_warps)
    inside = x[(x >= 0) & (x < 16)]
    np.testing.assert_array_equal(out.numpy(), np.bincount(inside, minlength=16))


@triton.jit
def shapes_kernel(out_ptr, a_ptr, b_ptr, N: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, N))
    b = tl.load(b_ptr + tl.arange(0, N))
    pair = tl.arange(0, 2 * N)
    tl.store(out_ptr + pair, tl.cat(a, b, can_reorder=True).sort())
    tl.store(out_ptr + 2 * N + pair, tl.interleave(a, b))
    column = tl.unsqueeze(a, 1)
    tl.static_assert(column.shape[0] == N)
    tl.static_assert(column.shape[1] == 1)
    tl.store(out_ptr + 4 * N + tl.arange(0, N), tl.squeeze(column, 1) - b)
    tl.store(out_ptr + 5 * N, tl.sum(a).to(a.dtype) + tl.max(tl.reshape(b, 1, N), 1).item())


@pytest.mark.parametrize("n", [8, 128])
def test_cat_interleave_squeeze_item(device, n):
    a, b = random(n, "i32", seed=29), random(n, "i32", seed=30)
    out = device.output(5 * n + 1, "i32")
    shapes_kernel[(1,)](out.array, device.to(a), device.to(b), n)
    expected = [np.sort(np.concatenate([a, b])), np.stack([a, b], 1).ravel(), a - b]
    expected.append([a.sum() + b.max()])
    np.testing.assert_array_equal(out.numpy(), np.concatenate(expected))


@triton.jit
def swizzle_kernel(out_ptr, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    row, column = tl.swizzle2d(i, j, M, N, G)
    tl.store(out_ptr + row * N + column, i * N + j)


def test_swizzle2d(device):
    """Positions are numbered in groups of rows."""
    out = device.output((8, 4), "i32")
    swizzle_kernel[(1,)](out.array, 8, 4, 2)
    expected = np.empty((8, 4), np.int32)
    for position in range(32):
        group, within = divmod(position, 8)
        expected[group * 2 + within % 2, within // 2] = position
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def cat_kernel(out_ptr, a_ptr, b_ptr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    both = tl.cat(tl.load(a_ptr + offsets), tl.load(b_ptr + offsets), dim=DIM)
    P: tl.constexpr = both.shape[0]
    Q: tl.constexpr = both.shape[1]
    tl.store(out_ptr + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], both)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_along_a_dimension(device, dim):
    a, b = random((8, 16), "fp16", seed=31), random((8, 16), "fp16", seed=32)
    expected = np.concatenate([a, b], dim)
    out = device.output(expected.shape, "fp16")
    cat_kernel[(1,)](out.array, device.to(a), device.to(b), 8, 16, dim)
    np.testing.assert_array_equal(out.numpy(), expected)
