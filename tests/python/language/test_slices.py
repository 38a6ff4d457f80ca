"""Tiles as arrays: parts by index and slice, and assignment to them, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

ALL = (None, None, None)
# Bounds and step of both dimensions of a tile of 32 x 64.
SLICES = [
    ((0, 16, None), ALL),
    ((16, 32, None), ALL),
    ((-8, None, None), (8, 24, None)),
    (ALL, (32, None, None)),
    (ALL, (None, None, 2)),
    ((1, None, 2), (3, None, 4)),
    (ALL, (None, None, -1)),
    ((None, None, -1), (None, None, -2)),
    ((11, 3, -1), (40, 8, -8)),
    ((3, 7, None), ALL),
    (ALL, (5, 37, None)),
    ((0, 24, 3), (7, None, 15)),
    ((5, 6, None), (60, 64, 7)),
    ((-100, 100, None), (None, 4, None)),
]
DTYPES = ["fp32", "fp16", "i8", "i1", "fp64", "fp8e5", "i64", "bf16"]


def part_of(x, rows, columns):
    return np.ascontiguousarray(x[slice(*rows), slice(*columns)])


def values(shape, dtype, seed):
    if dtype == "i1":
        return random(shape, "i8", seed=seed, low=0, high=2).astype(np.bool_)
    return random(shape, dtype, seed=seed)


def each_dtype():
    """Every slice, and every type, but not all of both."""
    for number, bounds in enumerate(SLICES):
        yield *bounds, DTYPES[number % len(DTYPES)], [4, 1, 8][number % 3]
    for number, dtype in enumerate(DTYPES):
        yield *SLICES[(5 * number + 3) % len(SLICES)], dtype, 4


@triton.jit
def slice_kernel(
    out_ptr, x_ptr, A: tl.constexpr, B: tl.constexpr, S: tl.constexpr,
    C: tl.constexpr, D: tl.constexpr, T: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    P: tl.constexpr, Q: tl.constexpr,
):  # fmt: skip
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    part = x[A:B:S, C:D:T]
    tl.store(out_ptr + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], part)


@pytest.mark.parametrize("rows, columns, dtype, num_warps", list(each_dtype()), ids=str)
def test_slice(device, rows, columns, dtype, num_warps):
    """A part by two slices is NumPy's."""
    x = values((32, 64), dtype, seed=1)
    expected = part_of(x, rows, columns)
    out = device.output(expected.shape, dtype)
    slice_kernel[(1,)](
        out.array, device.to(x), *rows, *columns, 32, 64, *expected.shape, num_warps=num_warps
    )
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def replace_kernel(
    out_ptr, x_ptr, y_ptr, A: tl.constexpr, B: tl.constexpr, S: tl.constexpr,
    C: tl.constexpr, D: tl.constexpr, T: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    P: tl.constexpr, Q: tl.constexpr,
):  # fmt: skip
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + places)
    before = x
    x[A:B:S, C:D:T] = tl.load(y_ptr + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :])
    tl.store(out_ptr + places, x)
    tl.store(out_ptr + M * N + places, before)


@pytest.mark.parametrize("rows, columns, dtype, num_warps", list(each_dtype()), ids=str)
def test_replace(device, rows, columns, dtype, num_warps):
    """An assignment to a part changes that part alone."""
    x = values((32, 64), dtype, seed=2)
    shape = part_of(x, rows, columns).shape
    y = values(shape, dtype, seed=3)
    out = device.output((2, 32, 64), dtype)
    replace_kernel[(1,)](
        out.array, device.to(x), device.to(y), *rows, *columns, 32, 64, *shape, num_warps=num_warps
    )
    expected = x.copy()
    expected[slice(*rows), slice(*columns)] = y
    np.testing.assert_array_equal(out.numpy(), np.stack([expected, x]))


@triton.jit
def pointers_kernel(
    out_ptr, x_ptr, first, limit, A: tl.constexpr, B: tl.constexpr, S: tl.constexpr,
    C: tl.constexpr, D: tl.constexpr, T: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    P: tl.constexpr, Q: tl.constexpr,
):  # fmt: skip
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    pointers = x_ptr + first + places
    mask = places % N < limit
    part = tl.load(pointers[A:B:S, C:D:T], mask=mask[A:B:S, C:D:T], other=7)
    tl.store(out_ptr + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], part)


@pytest.mark.parametrize("first, limit", [(0, 64), (3, 64), (16, 48), (8, 37)])
@pytest.mark.parametrize("rows, columns", SLICES, ids=str)
def test_loads_through_parts_of_pointers(device, rows, columns, first, limit):
    x = random(32 * 64 + first, "fp16", seed=17)
    whole = np.where(np.arange(64) < limit, x[first:].reshape(32, 64), np.float16(7))
    expected = part_of(whole, rows, columns)
    out = device.output(expected.shape, "fp16")
    pointers_kernel[(1,)](
        out.array, device.to(x), first, limit, *rows, *columns, 32, 64, *expected.shape
    )
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def index_kernel(out_ptr, x_ptr, i, j, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    columns, rows = tl.arange(0, N), tl.arange(0, M)
    tl.store(out_ptr + columns, x[K])
    tl.store(out_ptr + N + columns, x[i])
    tl.store(out_ptr + 2 * N + columns, x[i, :])
    tl.store(out_ptr + 3 * N + rows, x[:, j])
    tl.store(out_ptr + 3 * N + M + rows, x[..., K])
    tl.store(out_ptr + 3 * N + 2 * M, x[i, j])
    tl.store(out_ptr + 3 * N + 2 * M + 1, x[K, K])
    tl.store(out_ptr + 3 * N + 2 * M + 2, x[i][K])
    tl.store(out_ptr + 3 * N + 2 * M + 3, x[K][j])


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(16, 32), (4, 128), (128, 8), (2, 2), (64, 64)], ids=str)
@pytest.mark.parametrize(
    "i, j, K, dtype", [(1, 0, -1, "fp32"), (-2, -1, 1, "i8"), (0, 1, 0, "fp64")]
)
def test_index(device, shape, num_warps, i, j, K, dtype):
    """Rows, columns and elements by run-time and constant indices are NumPy's."""
    x = values(shape, dtype, seed=4)
    M, N = shape
    out = device.output(3 * N + 2 * M + 4, dtype)
    index_kernel[(1,)](out.array, device.to(x), i, j, M, N, K, num_warps=num_warps)
    expected = [x[K], x[i], x[i], x[:, j], x[:, K], [x[i, j], x[K, K], x[i, K], x[K, j]]]
    np.testing.assert_array_equal(out.numpy(), np.concatenate(expected))


@triton.jit
def put_kernel(out_ptr, x_ptr, row_ptr, i, j, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    columns, rows = tl.arange(0, N), tl.arange(0, M)
    places = rows[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + places)
    row = tl.load(row_ptr + columns)
    a = x
    a[i] = row
    tl.store(out_ptr + places, a)
    a[:, j] = 3
    tl.store(out_ptr + M * N + places, a)
    a[K] = row * 2
    a[K, j] += 7
    a[i, 0:2] = row[2:4]
    tl.store(out_ptr + 2 * M * N + places, a)
    a[i][K] = 5
    a[..., K] -= x[:, j]
    tl.store(out_ptr + 3 * M * N + places, a)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(16, 32), (4, 128), (128, 8), (64, 64)], ids=str)
@pytest.mark.parametrize("i, j, K", [(1, 0, -1), (-2, -1, 1), (0, 3, 2)])
def test_put(device, shape, num_warps, i, j, K):
    """Assignments by index change the tile as in NumPy."""
    x = random(shape, "i32", seed=5, low=-100, high=100)
    row = random(shape[1], "i32", seed=6, low=-100, high=100)
    out = device.output((4, *shape), "i32")
    put_kernel[(1,)](out.array, device.to(x), device.to(row), i, j, *shape, K, num_warps=num_warps)
    a, states = x.copy(), []
    a[i] = row
    states.append(a.copy())
    a[:, j] = 3
    states.append(a.copy())
    a[K] = row * 2
    a[K, j] += 7
    a[i, 0:2] = row[2:4]
    states.append(a.copy())
    a[i][K] = 5
    a[..., K] -= x[:, j]
    states.append(a.copy())
    np.testing.assert_array_equal(out.numpy(), np.stack(states))


@triton.jit
def loop_kernel(out_ptr, x_ptr, turns, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    places = tl.arange(0, M)[:, None] * N + columns[None, :]
    made = tl.zeros((M, N), tl.float32)
    last = tl.load(x_ptr + places)
    for k in range(turns):
        x = tl.load(x_ptr + k * N + columns)
        made[k % M] = x
        if k % 3 == 1:
            made[0:2, N // 2 :] += x[: N // 2] * k
        else:
            last[k % M, ::2] = made[(k + 1) % M, 1::2]
    tl.store(out_ptr + places, made)
    tl.store(out_ptr + M * N + places, last)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("shape", [(4, 64), (16, 16), (8, 256)], ids=str)
@pytest.mark.parametrize("turns", [0, 1, 7])
def test_loops_and_branches_carry_what_is_assigned_to(device, shape, turns, num_warps):
    M, N = shape
    x = random((M + 16, N), "fp32", seed=7)
    out = device.output((2, M, N), "fp32")
    loop_kernel[(1,)](out.array, device.to(x), turns, M, N, num_warps=num_warps)
    made, last = np.zeros(shape, np.float32), x[:M].copy()
    for k in range(turns):
        made[k % M] = x[k]
        if k % 3 == 1:
            made[0:2, N // 2 :] = made[0:2, N // 2 :] + x[k, : N // 2] * np.float32(k)
        else:
            last[k % M, ::2] = made[(k + 1) % M, 1::2]
    np.testing.assert_allclose(out.numpy(), np.stack([made, last]), rtol=1e-6)


@triton.jit
def dot_kernel(out_ptr, a_ptr, b_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), tl.float32)
    peak = tl.full((M,), float("-inf"), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + k + depth[None, :], mask=k + depth[None, :] < K)
        b = tl.load(b_ptr + (k + depth[:, None]) * N + columns[None, :])
        total = tl.dot(a, b, total)
        total = tl.dot(a[:, BLOCK_K // 2 :], b[: BLOCK_K // 2], total)
        peak = tl.maximum(peak, tl.max(total[:, N // 2 :], 1))
    left, right = total[:, : N // 2], total[:, N // 2 :]
    half = tl.arange(0, N // 2)
    tl.store(out_ptr + rows[:, None] * N + half[None, :], right - left)
    tl.store(out_ptr + rows[:, None] * N + N // 2 + half[None, :], left[:, ::-1] + peak[:, None])
    tl.store(out_ptr + M * N + half, total[M // 2 + 1, 0 : N // 2])
    tl.store(out_ptr + M * N + N // 2 + half, tl.sum(total[M // 2 :], 0)[1::2])


@pytest.mark.parametrize(
    "shape, num_warps", [((64, 64, 32), 4), ((128, 128, 64), 8), ((16, 32, 32), 1)], ids=str
)
def test_chained_with_dots_and_reductions(device, shape, num_warps):
    M, N, K = shape
    depth = 3 * K
    a = random((M, depth), "fp16", seed=8)
    b = random((depth, N), "fp16", seed=9)
    out = device.output((M + 1, N), "fp32")
    dot_kernel[(1,)](out.array, device.to(a), device.to(b), depth, *shape, num_warps=num_warps)
    total, peak = np.zeros((M, N)), np.full(M, -np.inf)
    x, y = a.astype(np.float64), b.astype(np.float64)
    for k in range(0, depth, K):
        total += x[:, k : k + K] @ y[k : k + K]
        total += x[:, k + K // 2 : k + K] @ y[k : k + K // 2]
        peak = np.maximum(peak, total[:, N // 2 :].max(1))
    left, right = total[:, : N // 2], total[:, N // 2 :]
    rest = np.append(total[M // 2 + 1, : N // 2], total[M // 2 :].sum(0)[1::2])
    expected = np.vstack([np.hstack([right - left, left[:, ::-1] + peak[:, None]]), rest])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=2e-2)


@triton.jit
def rows_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + columns[None, :])
    total = tl.zeros((N,), tl.float32)
    for row in x:
        x[0] = row  # the rows are those of the tile that the loop began with
        total = total * 2 + row
    for number, row in enumerate(x):
        total += number * row
    tl.store(out_ptr + columns, total)
    tl.store(out_ptr + N + columns, x[0])


@pytest.mark.parametrize("shape", [(4, 64), (16, 32), (1, 128)], ids=str)
def test_a_loop_over_rows(device, shape):
    x = random(shape, "fp32", seed=10)
    out = device.output((2, shape[1]), "fp32")
    rows_kernel[(1,)](out.array, device.to(x), *shape)
    total = np.zeros(shape[1])
    for row in x:
        total = total * 2 + row
    changed = x.copy()
    changed[0] = x[-1]
    for number, row in enumerate(changed):
        total += number * row
    np.testing.assert_allclose(out.numpy(), np.stack([total, x[-1]]), rtol=1e-4, atol=1e-4)


@triton.jit
def three_kernel(out_ptr, x_ptr, i):
    places = (
        tl.arange(0, 4)[:, None, None] * 128
        + tl.arange(0, 8)[None, :, None] * 16
        + tl.arange(0, 16)[None, None, :]
    )
    x = tl.load(x_ptr + places)
    part = x[i, None, ..., 4:12]  # 1 x 8 x 8
    tl.store(out_ptr + tl.arange(0, 8)[None, :, None] * 8 + tl.arange(0, 8)[None, None, :], part)
    x[1::2, i, None, ::-1] = x[0:2, 3, None]
    x[..., i][2, 4:6] = 9.0
    x[(0, 1, 2)] = 4.5
    tl.store(out_ptr + 64 + places, x)


@pytest.mark.parametrize("i", [0, 3, -1])
def test_three_dimensions(device, i):
    x = random((4, 8, 16), "fp32", seed=11)
    out = device.output(64 + 512, "fp32")
    three_kernel[(1,)](out.array, device.to(x), i)
    changed = x.copy()
    changed[1::2, i, None, ::-1] = changed[0:2, 3, None].copy()
    changed[..., i][2, 4:6] = 9.0
    changed[0, 1, 2] = 4.5
    expected = np.append(x[i, :, 4:12].ravel(), changed.ravel())
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def numbers_kernel(out_ptr):
    x = tl.zeros((4,), tl.float64)
    x[0] = 0.1
    x[1], count = 1e-300, 7
    x[2:] = count
    tl.store(out_ptr + tl.arange(0, 4), x)


def test_a_number_becomes_an_element_at_full_precision(device):
    out = device.output(4, "fp64")
    numbers_kernel[(1,)](out.array)
    np.testing.assert_array_equal(out.numpy(), [0.1, 1e-300, 7, 7])


@triton.jit
def masked_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places, mask=places < n, other=-1.0)
    mask = (places < n)[N // 2 :]
    tl.store(out_ptr + places[N // 2 :], x[: N // 2], mask=mask)
    pointers = out_ptr + places
    tl.store(pointers[: N // 2], x[N // 2 :][::-1])


@pytest.mark.parametrize("n", [1, 40, 64])
def test_masks_and_pointers(device, n):
    x = random(64, "fp32", seed=12)
    out = device.output(64, "fp32")
    masked_kernel[(1,)](out.array, device.to(x), n, 64)
    loaded = np.where(np.arange(64) < n, x, np.float32(-1))
    got = out.numpy()
    np.testing.assert_array_equal(got[:32], loaded[32:][::-1])
    np.testing.assert_array_equal(got[32 : max(n, 32)], loaded[:32][: max(n - 32, 0)])
    assert np.isnan(got[max(n, 32) :]).all()


@triton.jit
def outside_kernel(out_ptr, x_ptr, i):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, x[i])


@pytest.mark.parametrize("i", [16, -17, 2**31 + 3, -(2**40)])
def test_an_index_outside_is_reported_by_the_cpu_device(i):
    with pytest.raises(
        triton.PantileError, match=f"index {i} is out of bounds for an axis of size 16"
    ):
        outside_kernel[(1,)](np.zeros(1, np.float32), np.ones(16, np.float32), i)


@triton.jit
def empty_loop_kernel(out_ptr, x_ptr, i, turns):
    x = tl.load(x_ptr + tl.arange(0, 16))
    total = 0.0
    for _ in range(turns):
        total += x[i]
    tl.store(out_ptr, total)


def test_an_index_outside_is_not_reported_where_it_does_not_run(device):
    out = device.output(1, "fp32")
    empty_loop_kernel[(1,)](out.array, device.to(np.ones(16, np.float32)), 99, 0)
    assert out.numpy()[0] == 0


@triton.jit
def together_kernel(out_ptr, x_ptr, shift, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, tl.roll(x, shift, AXIS))
    tl.store(out_ptr + M * N + places, tl.roll(x, -3))
    four = tl.ravel(tl.stack((x, x + x, x, x - x), axis=AXIS))
    tl.store(out_ptr + 2 * M * N + tl.arange(0, 4 * M * N), four)
    pieces = tl.cat((x[:, : N // 4], x[:, N // 2 :], x[:, N // 4 : N // 2]), dim=1)
    tl.store(out_ptr + 6 * M * N + places, pieces)
    wide = tl.ravel(tl.cat((x, x * 3), dim=AXIS))
    tl.store(out_ptr + 7 * M * N + tl.arange(0, 2 * M * N), wide)
    tl.store(out_ptr + 9 * M * N + places, tl.flip(x, AXIS))
    padded = tl.ravel(tl.pad(x, ((0, 0), (N // 4, 3 * N // 4)), constant_values=2))
    tl.store(out_ptr + 10 * M * N + tl.arange(0, 2 * M * N), padded)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("shape", [(8, 32), (32, 8), (4, 128)], ids=str)
@pytest.mark.parametrize("axis, shift, dtype", [(0, 1, "i32"), (1, -5, "fp16"), (0, 1000, "i8")])
def test_together(device, shape, axis, shift, dtype, num_warps):
    """Parts join, pad, roll and split as in NumPy."""
    M, N = shape
    x = random(shape, dtype, seed=13, low=-20, high=20)
    out = device.output((12, M, N), dtype)
    together_kernel[(1,)](out.array, device.to(x), shift, M, N, axis, num_warps=num_warps)
    pieces = [x[:, : N // 4], x[:, N // 2 :], x[:, N // 4 : N // 2]]
    padded = np.pad(x, ((0, 0), (N // 4, 3 * N // 4)), constant_values=2)
    expected = [
        np.roll(x, shift, axis), np.roll(x, -3), np.stack((x, x + x, x, x - x), axis),
        np.concatenate(pieces, 1), np.concatenate((x, x * 3), axis), np.flip(x, axis), padded,
    ]  # fmt: skip
    got = out.numpy().ravel()
    np.testing.assert_array_equal(got, np.concatenate([part.ravel() for part in expected]))


@triton.jit
def gemm_kernel(
    c_ptr, a_ptr, b_ptr, bias_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * N + columns[None, :]
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        a_ptrs += BK
        b_ptrs += BK * N
    total[:, 0 : BN // 2] += tl.load(bias_ptr + columns)[0 : BN // 2]
    for part in tl.static_range(2):
        places = rows[:, None] * N + columns[part * BN // 2 : (part + 1) * BN // 2][None, :]
        half = total[:, part * BN // 2 : (part + 1) * BN // 2]
        tl.store(c_ptr + places, half.to(tl.float16))


@pytest.mark.parametrize(
    "blocks, num_warps", [((128, 128, 64), 8), ((64, 64, 32), 4), ((128, 64, 64), 4)], ids=str
)
def test_a_gemm_stores_its_result_in_halves(device, blocks, num_warps):
    M, N, K = 2 * blocks[0], 2 * blocks[1], 4 * blocks[2]
    a, b = random((M, K), "fp16", seed=14), random((K, N), "fp16", seed=15)
    bias = random(N, "fp32", seed=16)
    out = device.output((M, N), "fp16")
    gemm_kernel[(2, 2)](
        out.array,
        device.to(a),
        device.to(b),
        device.to(bias),
        M,
        N,
        K,
        *blocks,
        num_warps=num_warps,
    )
    taken = np.arange(N) % blocks[1] < blocks[1] // 2
    expected = a.astype(np.float64) @ b.astype(np.float64) + np.where(taken, bias, 0)
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, rtol=2e-3, atol=2e-2)
