"""Sorting, the largest elements, merging and reversing, against NumPy."""

import time

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def sort_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, tl.sort(tl.load(x_ptr + offsets), descending=DESCENDING))


def unordered(shape, dtype, seed):
    """Values over the whole range, with equal ones, zeros of both signs and infinities among floats."""
    if np.dtype(DTYPES[dtype]).kind in "iu":
        info = np.iinfo(DTYPES[dtype])
        x = np.random.default_rng(seed).integers(
            info.min, info.max, shape, DTYPES[dtype], endpoint=True
        )
        x[..., ::3] = x[..., :1]
        return x
    x = random(shape, dtype, seed)
    x[..., 1] = x[..., 0]
    if dtype in ("fp16", "bf16", "fp32", "fp64"):
        x[0, 2], x[0, 3] = np.inf, -np.inf
    return x


def by_value(x, descending):
    wide = x if x.dtype.kind in "iu" else x.astype(np.float64)
    result = np.sort(wide, axis=-1).astype(x.dtype)
    return result[..., ::-1] if descending else result


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u32", "fp16", "bf16", "fp32"])
def test_sort(device, dtype, descending):
    """Rows are sorted by value in both directions, with NaN and infinities."""
    x = unordered((8, 64), dtype, 11)
    out = device.output(x.shape, dtype)
    sort_kernel[(1,)](out.array, device.to(x), 8, 64, descending)
    np.testing.assert_array_equal(out.numpy(), by_value(x, descending))


@pytest.mark.parametrize("num_warps", [1, 2, 8])
@pytest.mark.parametrize("shape", [(1, 4), (2, 16), (1, 512), (16, 8)], ids=str)
def test_shapes_and_warps(device, shape, num_warps):
    x = unordered(shape, "fp32", 12)
    out = device.output(shape, "fp32")
    sort_kernel[(1,)](out.array, device.to(x), *shape, False, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), by_value(x, False))


def test_nan_comes_last(device):
    """As NumPy sorts, in tiles of powers of two."""
    x = random((1, 32), "fp32", seed=13)
    x[0, [3, 17]] = np.nan
    out = device.output(x.shape, "fp32")
    sort_kernel[(1,)](out.array, device.to(x), 1, 32, False)
    np.testing.assert_array_equal(out.numpy(), np.sort(x, axis=-1))


def test_a_thousand_elements_compile_fast(device):
    x = random((1, 1024), "fp32", seed=14)
    out = device.output(x.shape, "fp32")
    start = time.process_time()
    sort_kernel[(1,)](out.array, device.to(x), 1, 1024, True)
    seconds = time.process_time() - start
    np.testing.assert_array_equal(out.numpy(), by_value(x, True))
    assert seconds < 3, f"{seconds:.1f} s"


@triton.jit
def topk_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    x = tl.load(x_ptr + rows * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + rows * K + tl.arange(0, K)[None, :], tl.topk(x, K))


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "i32", "u8"])
@pytest.mark.parametrize("k", [1, 4, 32, 128])
def test_topk(device, k, dtype):
    """The k largest come in order."""
    x = unordered((4, 128), dtype, 15)
    out = device.output((4, k), dtype)
    topk_kernel[(1,)](out.array, device.to(x), 4, 128, k)
    np.testing.assert_array_equal(out.numpy(), by_value(x, True)[:, :k])


@triton.jit
def topk_row_kernel(out_ptr, x_ptr, N: tl.constexpr, K: tl.constexpr, LARGEST: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, K), tl.topk(x, K, dim=0, descending=LARGEST))


@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_one_row(device, largest):
    x = random(1024, "fp32", seed=16)
    out = device.output(8, "fp32")
    topk_row_kernel[(1,)](out.array, device.to(x), 1024, 8, largest)
    np.testing.assert_array_equal(out.numpy(), by_value(x, largest)[:8])


@triton.jit
def merge_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.bitonic_merge(tl.load(x_ptr + offsets), descending=DESCENDING)
    tl.store(out_ptr + offsets, x)


@pytest.mark.parametrize("descending", [False, True])
def test_bitonic_merge(device, descending):
    """Rows that rise and then fall are merged."""
    x = np.sort(random((4, 64), "fp32", seed=17), axis=1)
    x[:, 32:] = x[:, :31:-1]
    out = device.output(x.shape, "fp32")
    merge_kernel[(1,)](out.array, device.to(x), 4, 64, descending)
    np.testing.assert_array_equal(out.numpy(), by_value(x, descending))


@triton.jit
def flip_kernel(
    out_ptr, x_ptr, L: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr
):
    index = tl.arange(0, L)[:, None, None] * M + tl.arange(0, M)[None, :, None]
    offsets = index * N + tl.arange(0, N)[None, None, :]
    tl.store(out_ptr + offsets, tl.flip(tl.load(x_ptr + offsets), DIM))


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", [(2, 8, 64), (32, 1, 16), (64, 4, 2)], ids=str)
def test_flip(device, shape, dim):
    """A reversal along a dimension is NumPy's."""
    x = random(shape, "fp16", seed=18)
    out = device.output(shape, "fp16")
    flip_kernel[(1,)](out.array, device.to(x), *shape, dim)
    np.testing.assert_array_equal(out.numpy(), np.flip(x, -1 if dim is None else dim))


@triton.jit
def flip_method_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.flip())
    tl.store(out_ptr + N + offsets, x.sort(descending=True))


def test_methods(device):
    """`flip` and `sort` are methods of tiles, too."""
    x = random(256, "i32", seed=19)
    out = device.output(512, "i32")
    flip_method_kernel[(1,)](out.array, device.to(x), 256)
    np.testing.assert_array_equal(out.numpy(), np.concatenate([x[::-1], np.sort(x)[::-1]]))


@triton.jit
def sort_masked_kernel(out_ptr, x_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i * N + j, mask=(i < rows) & (j < columns) & (j < 6), other=0.0)
    tl.store(out_ptr + i * N + j, tl.sort(x))


@pytest.mark.parametrize("num_warps", [1, 2])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "i16", "i8"])
def test_sort_with_zeros_known_at_compile_time(device, dtype, num_warps):
    """Maxima with a zero stand next to minima without one: ptxas 13.0 clamps both."""
    m, n, rows, columns = 16, 16, 11, 16
    x = random((m, n), dtype, seed=21)
    out = device.output((m, n), dtype)
    sort_masked_kernel[(1,)](out.array, device.to(x), rows, columns, M=m, N=n, num_warps=num_warps)
    kept = (np.arange(m)[:, None] < rows) & (np.arange(n) < min(columns, 6))
    np.testing.assert_array_equal(out.numpy(), by_value(np.where(kept, x, x.dtype.type(0)), False))
