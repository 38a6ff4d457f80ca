"""Reductions and scans with combining functions of the user, over tuples, ranks and warps, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def affine(a1, b1, a2, b2):
    """First `a1 x + b1`, then `a2 x + b2`: associative, not commutative."""
    return a1 * a2, (a2 * b1 + b2).to(b1.dtype)


def composed(a, b):
    """All prefixes of the composition along axis 0, modulo 2**64 and 2**32."""
    prefixes = [(a[0], b[0])]
    for i in range(1, len(a)):
        pa, pb = prefixes[-1]
        prefixes.append((pa * a[i], a[i].astype(pb.dtype) * pb + b[i]))
    return [np.stack(column) for column in zip(*prefixes)]


@triton.jit
def multiply(re1, im1, n1, re2, im2, n2):
    """Complex numbers modulo 2**32, and how many there are; in any order."""
    return re1 * re2 - im1 * im2, re1 * im2 + im1 * re2, n1 + n2


@triton.jit
def product_kernel(
    re_out, im_out, n_out, re_ptr, im_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr
):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    ones = tl.full((M, N), 1, tl.uint64)
    numbers = (tl.load(re_ptr + offsets), tl.load(im_ptr + offsets), ones)
    re, im, n = tl.reduce(numbers, AXIS, multiply)
    kept = tl.arange(0, N if AXIS == 0 else M)
    tl.store(re_out + kept, re)
    tl.store(im_out + kept, im)
    tl.store(n_out + kept, n)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(4, 64), (128, 8), (2, 2), (1, 1024)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_tuple_of_types(device, shape, axis, num_warps):
    numbers = [random(shape, "u32", seed=seed) for seed in (81, 82)]
    outs = [device.output(shape[1 - axis], dtype) for dtype in ("u32", "u32", "u64")]
    product_kernel[(1,)](
        *(o.array for o in outs), *map(device.to, numbers), *shape, axis, num_warps=num_warps
    )
    rows = [np.moveaxis(x, axis, 0) for x in numbers]
    re, im = rows[0][0], rows[1][0]
    for x, y in zip(rows[0][1:], rows[1][1:]):
        re, im = re * x - im * y, re * y + im * x
    expected = re, im, np.full_like(re, shape[axis])
    for out, column in zip(outs, expected):
        np.testing.assert_array_equal(out.numpy(), column)


@triton.jit
def scan_kernel(
    a_out,
    b_out,
    a_ptr,
    b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    AXIS: tl.constexpr,
    REVERSE: tl.constexpr,
    BY_COLUMN: tl.constexpr,
):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    offsets = columns * M + rows if BY_COLUMN else rows * N + columns
    pair = (tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
    a, b = tl.associative_scan(pair, AXIS, affine, reverse=REVERSE)
    tl.store(a_out + offsets, a)
    tl.store(b_out + offsets, b)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "shape, axis", [((2, 512), 1), ((256, 4), 0), ((64, 32), 0), ((8, 16), 1), ((4, 2), 0)], ids=str
)
def test_scans_keep_order(device, shape, axis, reverse, by_column, num_warps):
    a, b = random(shape, "u64", seed=83), random(shape, "u32", seed=84)
    stored = shape[::-1] if by_column else shape
    outs = device.output(stored, "u64"), device.output(stored, "u32")
    inputs = [device.to(np.ascontiguousarray(x.T) if by_column else x) for x in (a, b)]
    scan_kernel[(1,)](
        *(o.array for o in outs), *inputs, *shape, axis, reverse, by_column, num_warps=num_warps
    )
    flip = (lambda x: np.flip(x, axis)) if reverse else (lambda x: x)
    columns = composed(*(np.moveaxis(flip(x), axis, 0) for x in (a, b)))
    for out, column in zip(outs, columns):
        expected = flip(np.moveaxis(column, 0, axis))
        result = out.numpy().T if by_column else out.numpy()
        np.testing.assert_array_equal(result, expected)


@triton.jit
def scan_reduced_kernel(out_ptr, x_ptr, K: tl.constexpr, N: tl.constexpr):
    """The scanned tile has the layout that a reduction left, with replicas."""
    x = tl.load(x_ptr + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + tl.arange(0, N), tl.cumsum(tl.sum(x, 0), 0))
    tl.store(out_ptr + N + tl.arange(0, K), tl.cumsum(tl.max(x, 1), 0, reverse=True))


@pytest.mark.parametrize("num_warps", [2, 8])
@pytest.mark.parametrize("k, n", [(8, 128), (64, 16), (256, 2)])
def test_scan_of_a_reduction(device, k, n, num_warps):
    x = random((k, n), "i32", seed=85)
    out = device.output(n + k, "i32")
    scan_reduced_kernel[(1,)](out.array, device.to(x), k, n, num_warps=num_warps)
    expected = np.concatenate([np.cumsum(x.sum(0)), np.cumsum(x.max(1)[::-1])[::-1]])
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def rank_kernel(
    sum_ptr, scan_ptr, x_ptr, SHAPE: tl.constexpr, SIZE: tl.constexpr, AXIS: tl.constexpr
):
    offsets = tl.arange(0, SIZE)
    x = tl.reshape(tl.load(x_ptr + offsets), SHAPE)
    total = tl.sum(x, AXIS, keep_dims=True)
    tl.store(sum_ptr + offsets, tl.reshape(tl.broadcast_to(total, SHAPE), (SIZE,)))
    tl.store(scan_ptr + offsets, tl.reshape(tl.cumsum(x, AXIS), (SIZE,)))


RANKS = [(64,), (2, 4, 8), (4, 2, 2, 16), (2, 4, 2, 2, 8)]
AXES = [(shape, axis) for shape in RANKS for axis in (0, -1, -2) if axis >= -len(shape)]


@pytest.mark.parametrize("shape, axis", AXES, ids=str)
def test_ranks(device, shape, axis):
    """Reductions and scans along any axis of any rank are NumPy's."""
    x = random(shape, "i32", seed=86)
    total, scan = device.output(shape, "i32"), device.output(shape, "i32")
    rank_kernel[(1,)](total.array, scan.array, device.to(x), shape, x.size, axis)
    expected = np.broadcast_to(x.sum(axis, keepdims=True), shape)
    np.testing.assert_array_equal(total.numpy(), expected)
    np.testing.assert_array_equal(scan.numpy(), np.cumsum(x, axis))


@triton.jit
def whole_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr, tl.sum(x))
    kept = tl.max(x, keep_dims=True)
    tl.static_assert(len(kept.shape) == 2)
    tl.store(out_ptr + 1 + tl.arange(0, 1)[:, None], kept)
    value, index = tl.min(x, return_indices=True)
    tl.store(out_ptr + 2, value)
    tl.store(out_ptr + 3, index)
    tl.store(out_ptr + 4, tl.xor_sum(x))
    tl.store(out_ptr + 5, tl.reduce_or(tl.reduce_or(x, 0), 0))
    tl.store(out_ptr + 6, x.sum(axis=1).max(axis=0))


@pytest.mark.parametrize("num_warps", [1, 8])
@pytest.mark.parametrize("shape", [(2, 2), (16, 64)], ids=str)
def test_whole_tiles(device, shape, num_warps):
    x = random(shape, "i32", seed=87)
    out = device.output(7, "i32")
    whole_kernel[(1,)](out.array, device.to(x), *shape, num_warps=num_warps)
    flat = x.ravel()
    expected = [x.sum(), x.max(), x.min(), x.argmin(), np.bitwise_xor.reduce(flat)]
    expected += [np.bitwise_or.reduce(flat), x.sum(1).max()]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def tie_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, LEFT: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    rows = tl.arange(0, M)
    tl.store(out_ptr + rows, tl.argmax(x, 1, tie_break_left=LEFT))
    _, index = tl.min(x, 1, return_indices=True, return_indices_tie_break_left=LEFT)
    tl.store(out_ptr + M + rows, index)


@pytest.mark.parametrize("dtype", ["i32", "fp16", "bf16", "u8"])
@pytest.mark.parametrize("left", [True, False])
def test_ties(device, left, dtype):
    """Without tie_break_left, any index of the best value will do."""
    x = random((16, 64), "i32", seed=88, low=0, high=3).astype(random(1, dtype, 0).dtype)
    out = device.output((2, 16), "i32")
    tie_kernel[(1,)](out.array, device.to(x), 16, 64, left)
    largest, smallest = out.numpy()
    if left:
        np.testing.assert_array_equal(largest, x.argmax(1))
        np.testing.assert_array_equal(smallest, x.argmin(1))
    rows = np.arange(16)
    np.testing.assert_array_equal(x[rows, largest], x.max(1))
    np.testing.assert_array_equal(x[rows, smallest], x.min(1))


@triton.jit
def nan_kernel(out_ptr, x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.max(x))
    tl.store(out_ptr + 1, tl.min(x))
    tl.store(out_ptr + 2, tl.sum(x))


def test_nan(device):
    """Maximum and minimum pass over NaN, a sum does not."""
    x = random(64, "fp32", seed=89)
    x[[5, 40]] = np.nan
    out = device.output(3, "fp32")
    nan_kernel[(1,)](out.array, device.to(x), 64)
    np.testing.assert_array_equal(out.numpy(), [np.nanmax(x), np.nanmin(x), np.nan])


@triton.jit
def dtype_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.static_assert(tl.sum(x).dtype == tl.int32)
    tl.static_assert(tl.sum(x > 0).dtype == tl.uint32)
    tl.static_assert(tl.sum(x.to(tl.bfloat16)).dtype == tl.bfloat16)
    tl.static_assert(tl.max(x.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.max(x).dtype == tl.int32)
    tl.static_assert(tl.cumsum(x.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.xor_sum(x).dtype == tl.int8)
    tl.store(out_ptr, tl.sum(x, dtype=tl.int64))
    tl.store(out_ptr + 1, tl.sum(x > 0).to(tl.int64))
    tl.store(out_ptr + 2 + offsets, tl.cumsum(x, dtype=tl.int64))


def test_dtypes_of_results(device):
    x = random(128, "i8", seed=90)
    out = device.output(130, "i64")
    dtype_kernel[(1,)](out.array, device.to(x), 128)
    wide = x.astype(np.int64)
    expected = np.concatenate([[wide.sum(), (x > 0).sum()], np.cumsum(wide)])
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def larger_of(a, ai, b, bi):
    if a > b:
        best, index = a, ai
    else:
        best, index = b, bi
    return best, index


@triton.jit
def branching_kernel(out_ptr, x_ptr, N: tl.constexpr):
    index = tl.arange(0, N)
    best, at = tl.reduce((tl.load(x_ptr + index), index), 0, larger_of)
    tl.store(out_ptr, best)
    tl.store(out_ptr + 1, at.to(tl.float32))


@pytest.mark.parametrize("n", [2, 512])
def test_a_combination_that_branches(device, n):
    x = random(n, "fp32", seed=91)
    out = device.output(2, "fp32")
    branching_kernel[(1,)](out.array, device.to(x), n)
    np.testing.assert_array_equal(out.numpy(), [x.max(), x.argmax()])


@triton.jit
def builtin_kernel(out_ptr, x_ptr, N: tl.constexpr):
    """The language's own functions combine too."""
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, tl.maximum))


def test_a_function_of_the_language(device):
    x = random(256, "fp32", seed=92)
    out = device.output(1, "fp32")
    builtin_kernel[(1,)](out.array, device.to(x), 256)
    assert out.numpy()[0] == x.max()


@triton.jit
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@triton.jit
def gcd_kernel(out_ptr, scan_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + tl.arange(0, M), tl.reduce(x, 1, gcd))
    tl.store(scan_ptr + offsets, tl.associative_scan(x, 0, gcd))


@pytest.mark.parametrize("shape", [(2, 8), (16, 32)], ids=str)
def test_a_combination_that_loops(device, shape):
    x = random(shape, "i32", seed=93, low=1, high=50) * 12
    out, scan = device.output(shape[0], "i32"), device.output(shape, "i32")
    gcd_kernel[(1,)](out.array, scan.array, device.to(x), *shape)
    np.testing.assert_array_equal(out.numpy(), np.gcd.reduce(x, axis=1))
    np.testing.assert_array_equal(scan.numpy(), np.gcd.accumulate(x, axis=0))
