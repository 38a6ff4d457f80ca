"""Sorts, merges, the largest elements and reversals along any dimension of any extent, on every device, against NumPy:
every element, random data."""

import itertools

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

EXTENTS = [1, 2, 3, 5, 6, 7, 12, 33, 48, 96, 100, 127, 130]
LONG = [(1, 1000), (1000,), (3, 300), (2, 3, 96), (5, 64, 3)]
TYPES = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64"]


@triton.jit
def offsets(shape: tl.constexpr):
    """Row-major places of all elements."""
    return tl.reshape(tl.arange(0, tl.zeros(shape, tl.int8).numel), shape)


@triton.jit
def sort_kernel(
    out_ptr, x_ptr, SHAPE: tl.constexpr, DIM: tl.constexpr, DESCENDING: tl.constexpr
):  # fmt: skip
    x = tl.load(x_ptr + offsets(SHAPE))
    tl.store(out_ptr + offsets(SHAPE), tl.sort(x, DIM, descending=DESCENDING))


def unordered(shape, dtype, seed):
    """Values over the whole range, with equal ones, zeros of both signs, the least and the greatest."""
    rng = np.random.default_rng(seed)
    if np.dtype(DTYPES[dtype]).kind in "iu":
        info = np.iinfo(DTYPES[dtype])
        x = rng.integers(info.min, info.max, shape, DTYPES[dtype], endpoint=True)
        special = [info.min, info.max, 0]
    else:
        x = random(shape, dtype, seed)
        special = [np.inf, -np.inf, 0.0, -0.0]
    flat = x.reshape(-1)
    flat[::3] = flat[0]
    for value in special:
        flat[rng.integers(0, flat.size)] = value
    return x


def by_value(x, axis, descending):
    wide = x if x.dtype.kind in "iu" else x.astype(np.float64)
    result = np.sort(wide, axis=axis).astype(x.dtype)
    return np.flip(result, axis) if descending else result


def check_sort(device, x, dtype, dim, descending, **options):
    out = device.output(x.shape, dtype)
    sort_kernel[(1,)](out.array, device.to(x), x.shape, dim, descending, **options)
    expected = by_value(x, -1 if dim is None else dim, descending)
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("extent", EXTENTS)
def test_every_extent(device, extent, descending):
    for rows, dim in ((1, 1), (3, 1), (8, None), (5, 0)):
        shape = (extent, rows) if dim == 0 else (rows, extent)
        check_sort(device, unordered(shape, "fp32", extent), "fp32", dim, descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_every_type(device, dtype, descending):
    for shape, dim in (((6, 48), -1), ((45, 4), 0)):
        check_sort(device, unordered(shape, dtype, 2), dtype, dim, descending)


@pytest.mark.parametrize("num_warps", [1, 2, 3, 4, 6, 8, 12])
def test_every_number_of_warps(device, num_warps):
    for shape in LONG:
        for dim in range(len(shape)):
            check_sort(
                device, unordered(shape, "i32", 3), "i32", dim, dim == 1, num_warps=num_warps
            )


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_every_dimension_of_powers_of_two(device, dim):
    check_sort(device, unordered((4, 16, 8), "fp16", 4), "fp16", dim, True)


@pytest.mark.parametrize("extent", [30, 100])
def test_nan_comes_last(device, extent):
    """As NumPy sorts, next to the padding of other extents."""
    x = random((2, extent), "fp32", seed=13)
    x[:, [3, 17]] = np.nan
    check_sort(device, x, "fp32", 1, False)


@triton.jit
def bool_kernel(out_ptr, x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N)) > 0
    tl.store(out_ptr + tl.arange(0, N), tl.sort(x).to(tl.int8))


def test_bools(device):
    """Bools are sorted, false before true."""
    x, out = random(100, "i8", seed=5), device.output(100, "i8")
    bool_kernel[(1,)](out.array, device.to(x), 100)
    np.testing.assert_array_equal(out.numpy(), np.sort(x > 0).astype(np.int8))


@triton.jit
def topk_kernel(
    out_ptr, x_ptr, SHAPE: tl.constexpr, RESULT: tl.constexpr, K: tl.constexpr, DIM: tl.constexpr,
    LARGEST: tl.constexpr,
):  # fmt: skip
    x = tl.load(x_ptr + offsets(SHAPE))
    tl.store(out_ptr + offsets(RESULT), tl.topk(x, K, dim=DIM, descending=LARGEST))


def check_topk(device, x, dtype, k, dim, largest, **options):
    result = list(x.shape)
    result[-1 if dim is None else dim] = k
    out = device.output(tuple(result), dtype)
    topk_kernel[(1,)](out.array, device.to(x), x.shape, tuple(result), k, dim, largest, **options)
    expected = by_value(x, -1 if dim is None else dim, largest)
    expected = np.take(expected, range(k), -1 if dim is None else dim)
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("extent", [3, 48, 64, 100])
def test_topk(device, extent, largest):
    """The k largest or smallest come in order, for any k and extent."""
    for k in sorted({1, 2, 3, 5, 8, 33, 40, 47, extent - 1, extent}):
        if k <= extent:
            check_topk(device, unordered((4, extent), "fp32", k), "fp32", k, None, largest)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_topk_of_every_type(device, dtype, largest):
    for dim, k in itertools.product((0, -1), (4, 5)):
        check_topk(device, unordered((24, 20), dtype, 6), dtype, k, dim, largest)


@pytest.mark.parametrize("num_warps", [1, 4, 6])
def test_topk_along_every_dimension(device, num_warps):
    for shape in LONG:
        for dim in range(len(shape)):
            k = min(shape[dim], 6)
            check_topk(device, unordered(shape, "i16", 7), "i16", k, dim, True, num_warps=num_warps)


@pytest.mark.parametrize("dim", [0, 1])
def test_topk_of_the_least_elements_alone(device, dim):
    """What is padded with is an element itself."""
    x = np.full((6, 40), np.iinfo(np.int32).min, np.int32)
    x[2, ::7] = 5
    check_topk(device, x, "i32", 5, dim, True)
    check_topk(device, ~x, "i32", 5, dim, False)


@triton.jit
def merge_kernel(
    out_ptr, x_ptr, SHAPE: tl.constexpr, DIM: tl.constexpr, DESCENDING: tl.constexpr
):  # fmt: skip
    x = tl.bitonic_merge(tl.load(x_ptr + offsets(SHAPE)), DIM, descending=DESCENDING)
    tl.store(out_ptr + offsets(SHAPE), x)


@pytest.mark.parametrize("falls_first", [False, True])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(4, 48), (4, 64), (3, 7), (100, 2)], ids=str)
def test_bitonic_merge(device, shape, descending, falls_first):
    """Along both axes, with the turning point anywhere and in either direction."""
    for dim in range(2):
        x = np.sort(random(shape, "fp32", seed=17), axis=dim)
        front, back = np.split(x, [shape[dim] // 3], axis=dim)
        x = np.concatenate([front, np.flip(back, dim)], dim)
        x = np.flip(-x, dim) if falls_first else x
        out = device.output(shape, "fp32")
        merge_kernel[(1,)](out.array, device.to(np.ascontiguousarray(x)), shape, dim, descending)
        np.testing.assert_array_equal(out.numpy(), by_value(x, dim, descending))


@triton.jit
def flip_kernel(out_ptr, x_ptr, SHAPE: tl.constexpr, DIM: tl.constexpr):
    tl.store(out_ptr + offsets(SHAPE), tl.flip(tl.load(x_ptr + offsets(SHAPE)), DIM))


@pytest.mark.parametrize("dtype", ["i8", "fp16", "i64"])
@pytest.mark.parametrize("shape", [(48,), (3, 96), (7, 5, 12), (1, 1000)], ids=str)
def test_flip(device, shape, dtype):
    """A reversal along each dimension is NumPy's."""
    x = random(shape, dtype, seed=18)
    for dim in (None, *range(-len(shape), len(shape))):
        out = device.output(shape, dtype)
        flip_kernel[(1,)](out.array, device.to(x), shape, dim)
        np.testing.assert_array_equal(out.numpy(), np.flip(x, -1 if dim is None else dim))


@triton.jit
def in_a_loop_kernel(out_ptr, x_ptr, rounds, M: tl.constexpr, N: tl.constexpr):
    """What a sort gives is sorted again along the other dimension, in every iteration."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    for i in range(rounds):
        x = tl.sort(x, 0, descending=True) ^ (tl.sort(x, 1) + i)
    tl.store(out_ptr + at, x)


@pytest.mark.parametrize("num_warps", [1, 4, 6])
def test_sorts_in_a_loop(device, num_warps):
    x = unordered((12, 40), "i32", 19)
    out = device.output(x.shape, "i32")
    in_a_loop_kernel[(1,)](out.array, device.to(x), 3, *x.shape, num_warps=num_warps)
    for i in range(3):
        x = by_value(x, 0, True) ^ (by_value(x, 1, False) + np.int32(i))
    np.testing.assert_array_equal(out.numpy(), x)


@triton.jit
def complex_flip_kernel(out_ptr, x_ptr, SHAPE: tl.constexpr, DIM: tl.constexpr):
    tl.store(out_ptr + offsets(SHAPE), tl.flip(tl.load(x_ptr + offsets(SHAPE)), DIM))


@pytest.mark.parametrize("dim", [0, 1])
def test_flip_of_complex_numbers(device, dim):
    parts = random((2, 5, 12), "fp32", seed=20)
    z = (parts[0] + 1j * parts[1]).astype(np.complex64)
    out = device.output(z.shape, "c64")
    complex_flip_kernel[(1,)](out.array, device.to(z), z.shape, dim)
    np.testing.assert_array_equal(out.numpy(), np.flip(z, dim))
