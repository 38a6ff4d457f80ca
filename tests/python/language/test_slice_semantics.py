"""Tiles as arrays together with the rest of the language: NumPy runs the same statements."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

INDEX_TYPES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


@triton.jit
def typed_index_kernel(out_ptr, x_ptr, index_ptr, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + columns[None, :])
    i = tl.load(index_ptr)
    j = tl.load(index_ptr + 1)
    tl.store(out_ptr + columns, x[i])
    x[j] = x[i, ::-1]
    x[i, j] = 5
    x[..., i] += 1
    tl.store(out_ptr + N + tl.arange(0, M)[:, None] * N + columns[None, :], x)


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("i, j", [(3, 6), (-1, 2), (5, -8)])
def test_an_index_of_any_integer_type(device, index_type, i, j):
    if index_type[0] == "u":
        i, j = abs(i), abs(j) - 1
    x = random((8, 16), "fp32", seed=1)
    index = np.array([i, j]).astype(f"{'u' if index_type[0] == 'u' else ''}int{index_type[1:]}")
    out = device.output((9, 16), "fp32")
    typed_index_kernel[(1,)](out.array, device.to(x), device.to(index), 8, 16)
    a = x.copy()
    a[j] = x[i, ::-1]
    a[i, j] = 5
    a[..., i] += 1
    np.testing.assert_array_equal(out.numpy(), np.vstack([x[i], a]))


@triton.jit
def one_index_kernel(out_ptr, x_ptr, index_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, x[tl.load(index_ptr)])


@pytest.mark.parametrize(
    "index", [np.uint64(2**64 - 1), np.uint64(2**63 + 3), np.uint32(2**32 - 1), np.int8(-17)]
)
def test_an_unsigned_index_does_not_count_from_the_end(index):
    with pytest.raises(triton.PantileError, match="out of bounds for an axis of size 16"):
        one_index_kernel[(1,)](np.zeros(1, np.float32), np.ones(16, np.float32), np.array([index]))


@triton.jit
def pointers_kernel(out_ptr, x_ptr, y_ptr, i, N: tl.constexpr):
    places = tl.arange(0, N)
    pointers = x_ptr + tl.arange(0, 4)[:, None] * N + places[None, :]
    tl.store(out_ptr + places, tl.load(pointers[i]))
    tl.store(out_ptr + N, tl.load(pointers[i, 2]))
    tl.debug_barrier()
    pointers[1, : N // 2] = y_ptr + places[: N // 2]
    tl.store(pointers[1:3, ::2], -1.0 * tl.arange(0, N)[None, ::2])
    tl.debug_barrier()
    tl.store(out_ptr + 2 * N + tl.arange(0, 4)[:, None] * N + places[None, :], tl.load(pointers))
    tl.debug_barrier()
    tl.atomic_add(pointers[0], 1.0)
    tl.debug_barrier()
    tl.store(out_ptr + 6 * N + places, tl.load(x_ptr + places))


@pytest.mark.parametrize("i", [0, -1, 2])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_parts_of_pointers(device, i, num_warps):
    N = 64
    x, y = random((4, N), "fp32", seed=2), random(N, "fp32", seed=3)
    out = device.output((7, N), "fp32")
    arrays = device.to(x.copy()), device.to(y.copy())
    pointers_kernel[(1,)](out.array, *arrays, i, N, num_warps=num_warps)
    got = out.numpy()
    np.testing.assert_array_equal(got[0], x[i])
    assert got[1, 0] == x[i, 2]
    a = x.copy()
    a[1, : N // 2] = y[: N // 2]
    a[1:3, ::2] = -np.arange(N)[::2]
    np.testing.assert_array_equal(got[2:6], a)
    np.testing.assert_array_equal(got[6], x[0] + 1)


@triton.jit
def changed(x, i):
    x[i] = 100
    x[2:4] += 1
    return x


@triton.jit
def value_kernel(out_ptr, x_ptr, i, N: tl.constexpr):
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    alias = x
    other = changed(x, i)
    tl.store(out_ptr + places, x)
    tl.store(out_ptr + N + places, other)
    x[0], x[1] = x[1], x[0]
    x[2] = alias[3] = x[5]
    tl.store(out_ptr + 2 * N + places, x)
    tl.store(out_ptr + 3 * N + places, alias)
    x[4:8] = x[0:4]
    x[1:5] = x[0:4]
    x[:2], rest = x[2:4], x[8:][i]
    tl.store(out_ptr + 4 * N + places, x + rest)


@pytest.mark.parametrize("i", [7, -3])
def test_tiles_are_values(device, i):
    N = 16
    x = random(N, "i32", seed=4, low=-99, high=99)
    out = device.output((5, N), "i32")
    value_kernel[(1,)](out.array, device.to(x), i, N)
    other = x.copy()
    other[i] = 100
    other[2:4] += 1
    a, alias = x.copy(), x.copy()
    a[0], a[1] = x[1], x[0]
    a[2] = alias[3] = a[5]
    b = a.copy()
    b[4:8] = b[0:4].copy()
    b[1:5] = b[0:4].copy()
    rest = b[8:][i]
    b[:2] = b[2:4].copy()
    np.testing.assert_array_equal(out.numpy(), np.stack([x, other, a, alias, b + rest]))


@triton.jit
def control_kernel(out_ptr, x_ptr, n, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    places = tl.arange(0, M)[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + places)
    counts = tl.zeros((N,), tl.int32)
    kept = tl.zeros((M, N), tl.float32)
    k = 0
    while k < n:
        counts[k * k % N] += 1
        if k % 2 == 0:
            kept[k % M, ::2] = x[(k + 1) % M, 1::2]
        elif k > 4:
            kept[:, k % N] -= x[:, 0]
            k += 2
            continue
        for j in range(k):
            if j == 3:
                break
            kept[j % M, N // 2 :] += x[k % M, : N // 2]
            counts[1:3] += j
        k += 1
    if n > 5:
        kept[-1] = 7.0
    tl.store(out_ptr + places, kept)
    tl.store(out_ptr + M * N + columns, counts.to(tl.float32))


@pytest.mark.parametrize("shape", [(4, 32), (16, 16), (2, 128)], ids=str)
@pytest.mark.parametrize("n, num_warps", [(0, 1), (1, 4), (5, 4), (12, 2)])
def test_loops_that_leave_early(device, shape, n, num_warps):
    M, N = shape
    x = random(shape, "fp32", seed=5)
    out = device.output((M + 1, N), "fp32")
    control_kernel[(1,)](out.array, device.to(x), n, M, N, num_warps=num_warps)
    counts, kept, k = np.zeros(N), np.zeros(shape, np.float32), 0
    while k < n:
        counts[k * k % N] += 1
        if k % 2 == 0:
            kept[k % M, ::2] = x[(k + 1) % M, 1::2]
        elif k > 4:
            kept[:, k % N] -= x[:, 0]
            k += 2
            continue
        for j in range(k):
            if j == 3:
                break
            kept[j % M, N // 2 :] += x[k % M, : N // 2]
            counts[1:3] += j
        k += 1
    if n > 5:
        kept[-1] = 7
    np.testing.assert_allclose(out.numpy(), np.vstack([kept, counts]), rtol=1e-5, atol=1e-5)


@triton.jit
def guarded_kernel(out_ptr, x_ptr, i):
    x = tl.load(x_ptr + tl.arange(0, 16))
    got = -1.0
    if i < 16:
        got = x[i]
        x[i] = 0.0
    tl.store(out_ptr, got)
    tl.store(out_ptr + tl.arange(1, 17), x)


@pytest.mark.parametrize("i", [3, 16, 2**31 - 1])
def test_an_index_in_a_branch_that_is_not_taken(device, i):
    x = random(16, "fp32", seed=6)
    out = device.output(17, "fp32")
    guarded_kernel[(1,)](out.array, device.to(x), i)
    expected = np.append(-1 if i >= 16 else x[i], x)
    if i < 16:
        expected[1 + i] = 0
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def total_of(x):
    total = 0.0
    for row in x:
        for value in row[:2]:
            total += value
    return total


@triton.jit
def iterate_kernel(out_ptr, x_ptr, n, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + columns[None, :])
    tl.store(out_ptr, total_of(x))
    found = tl.zeros((N,), tl.float32)
    number = 0
    for row, column in zip(x, x.T):
        if number == n:
            break
        number += 1
        if number == 2:
            continue
        found += row * column[0]
    else:
        found[0] = 1000.0
    tl.store(out_ptr + N + columns, found)
    first, *rest = x
    a, b = rest[-1][2:4]
    tl.store(out_ptr + 2 * N + columns, first + a - b)
    doubled = tl.stack([row * 2 for row in x], axis=1)
    tl.store(out_ptr + 3 * N + columns, tl.sum(doubled, 1))
    tl.store(out_ptr + 1, len(x) * 1.0)


@pytest.mark.parametrize("n", [0, 3, 99])
def test_iteration(device, n):
    """A loop over the rows of a tile sees them as NumPy's does."""
    M = N = 16
    x = random((M, N), "fp32", seed=7)
    out = device.output((4, N), "fp32")
    iterate_kernel[(1,)](out.array, device.to(x), n, M, N)
    found = np.zeros(N)
    for number in range(min(n, M)):
        if number != 1:
            found += x[number] * x[0, number]
    if n >= M:
        found[0] = 1000
    got = out.numpy()
    np.testing.assert_allclose(got[0, :2], [x[:, :2].sum(), M], rtol=1e-5)
    expected = [found, x[0] + x[-1, 2] - x[-1, 3], 2 * x.sum(0)]
    np.testing.assert_allclose(got[1:], expected, rtol=1e-4, atol=1e-5)


@triton.jit
def tuples_kernel(out_ptr, x_ptr, i, SHAPE: tl.constexpr, NAME: tl.constexpr):
    M: tl.constexpr = SHAPE[0]
    N: tl.constexpr = SHAPE[-1]
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + columns[None, :])
    tl.static_assert(x.shape[0] == M)
    tl.static_assert(x.shape[1:] == SHAPE[1:])
    tl.static_assert(NAME[1:3] == "bc")
    both = (x, x * 2)
    tl.store(out_ptr + columns, both[1][i])
    tl.store(out_ptr + N + columns, both[::-1][1][-1, ::-1])
    place = (0, 1)
    tl.store(out_ptr + 2 * N, x[place])
    tl.store(out_ptr + 2 * N + 1, x[(i, *SHAPE[2:])][0])
    tl.store(out_ptr + 2 * N + 2 + tl.arange(0, N // 2)[None, :, None], x[None, i, ::2, None])
    tl.store(out_ptr + 3 * N + tl.arange(0, M)[None, :, None] * N + columns[None, None, :], x[None])


def test_tuples_and_new_dimensions(device):
    M, N = 4, 16
    x = random((M, N), "fp32", seed=8)
    out = device.output((3 + M, N), "fp32")
    tuples_kernel[(1,)](out.array, device.to(x), 2, (M, N), "abcd")
    got = out.numpy()
    np.testing.assert_array_equal(got[0], 2 * x[2])
    np.testing.assert_array_equal(got[1], x[-1, ::-1])
    np.testing.assert_array_equal(got[2, :10], [x[0, 1], x[2, 0], *x[2, ::2]])
    np.testing.assert_array_equal(got[3:], x)


@triton.jit
def accumulator_kernel(
    out_ptr, a_ptr, b_ptr, x_ptr, K, i, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows, columns, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    half = tl.zeros((BM // 2, BN // 2), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * K + k + depth[None, :])
        b = tl.load(b_ptr + (k + depth[:, None]) * BN + columns[None, :])
        total = tl.dot(a, b, total)
        half = tl.dot(a[BM // 2 :], b[:, : BN // 2], half)
        if k == BK:
            total[:, BN // 2 :] *= 0.5
            total[i] += tl.load(x_ptr + columns)
            total[:, i] = total[:, 0]
    total[: BM // 2, BN // 2 :] += half
    p = total[:, : BN // 2].to(tl.float16)
    last = tl.dot(p, tl.load(b_ptr + columns[: BN // 2, None] * BN + columns[None, :]) * 0.0625)
    tl.store(out_ptr + rows[:, None] * BN + columns[None, :], total)
    tl.store(out_ptr + BM * BN + rows[:, None] * BN + columns[None, :], last)
    tl.store(out_ptr + 2 * BM * BN + columns, total[i])
    tl.store(out_ptr + 2 * BM * BN + BN, total[i, -1])


@pytest.mark.parametrize(
    "blocks, num_warps",
    [((64, 64, 32), 4), ((128, 64, 64), 8), ((32, 32, 16), 2), ((128, 128, 64), 8)],
    ids=str,
)
@pytest.mark.parametrize("i", [5, -7])
def test_parts_of_accumulators_in_loops(device, blocks, num_warps, i):
    BM, BN, BK = blocks
    K = max(4 * BK, BN)
    a, b = random((BM, K), "fp16", seed=9), random((K, BN), "fp16", seed=10)
    x = random(BN, "fp32", seed=11)
    out = device.output(2 * BM * BN + BN + 1, "fp32")
    accumulator_kernel[(1,)](
        out.array, device.to(a), device.to(b), device.to(x), K, i, *blocks, num_warps=num_warps
    )
    aa, bb = a.astype(np.float64), b.astype(np.float64)
    total, half = np.zeros((BM, BN)), np.zeros((BM // 2, BN // 2))
    for k in range(0, K, BK):
        total += aa[:, k : k + BK] @ bb[k : k + BK]
        half += aa[BM // 2 :, k : k + BK] @ bb[k : k + BK, : BN // 2]
        if k == BK:
            total[:, BN // 2 :] *= 0.5
            total[i] += x
            total[:, i] = total[:, 0]
    total[: BM // 2, BN // 2 :] += half
    last = total[:, : BN // 2] @ bb[: BN // 2] * 0.0625
    got = out.numpy().astype(np.float64)
    np.testing.assert_allclose(got[: BM * BN].reshape(BM, BN), total, rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(
        got[BM * BN : 2 * BM * BN].reshape(BM, BN), last, rtol=1e-2, atol=1e-1
    )
    np.testing.assert_array_equal(got[2 * BM * BN : -1], got[: BM * BN].reshape(BM, BN)[i])
    assert got[-1] == got[: BM * BN].reshape(BM, BN)[i, -1]


@triton.jit
def converted_kernel(out_ptr, x_ptr, f):
    x = tl.load(x_ptr + tl.arange(0, 16))
    x[0] = 2.75
    x[1] = f
    x[2:4] = -f
    x[4:8] = tl.full((4,), 3.5, tl.float16)
    x[8:] += 1
    tl.store(out_ptr + tl.arange(0, 16), x)


@pytest.mark.parametrize("dtype", ["i32", "i16", "fp16", "fp64", "u8"])
def test_what_is_assigned_is_converted(device, dtype):
    x = random(16, dtype, seed=12, low=0, high=50)
    out = device.output(16, dtype)
    converted_kernel[(1,)](out.array, device.to(x), -9.75)
    a = x.copy()
    a[0] = 2.75
    a[2:4] = 9.75
    a[4:8] = 3.5
    a[8:] += 1
    got = out.numpy()
    if dtype != "u8":  # of a negative float as unsigned, nothing is promised
        a[1] = -9.75
    got[1] = a[1] if dtype == "u8" else got[1]
    np.testing.assert_array_equal(got, a)


@triton.jit
def mixed_kernel(out_ptr, x_ptr, i, j, M: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + places)
    y = x[::-1]
    x[i] = y[j]
    x[:, j] = y[:, i]
    x[1::2, i] = y[: M // 2, j]
    x[j, : N // 2] = x[i, N // 2 :]
    x[i, j] = y[j, i]
    tl.store(out_ptr + places, x)


@pytest.mark.parametrize("shape", [(8, 16), (2, 64), (64, 4), (32, 32)], ids=str)
@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("dtype", ["fp8e5", "fp8e4nv", "i1", "bf16", "i64", "fp64", "u16"])
def test_run_time_indices_of_every_type(device, shape, num_warps, dtype):
    M, N = shape
    if dtype == "i1":
        x = random(shape, "i8", seed=13, low=0, high=2).astype(np.bool_)
    else:
        x = random(shape, dtype, seed=13)
    i, j = 1, -2
    out = device.output(shape, dtype)
    mixed_kernel[(1,)](out.array, device.to(x), i, j, M, N, num_warps=num_warps)
    a, y = x.copy(), x[::-1].copy()
    a[i] = y[j]
    a[:, j] = y[:, i]
    a[1::2, i] = y[: M // 2, j]
    a[j, : N // 2] = a[i, N // 2 :].copy()
    a[i, j] = y[j, i]
    np.testing.assert_array_equal(out.numpy(), a)


@triton.jit
def paged_kernel(
    out_ptr, a_ptr, b_ptr, table_ptr, pages, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PAGES: tl.constexpr,
):  # fmt: skip
    rows, columns, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    table = tl.load(table_ptr + tl.arange(0, PAGES))
    a_ptrs = a_ptr + rows[:, None] * PAGES * BK + tl.arange(0, 2 * BK)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for page in range(pages):
        at = b_ptr + (table[page] * BK + depth[:, None]) * BN + columns[None, :]
        total = tl.dot(tl.load(a_ptrs[:, BK:] - BK), tl.load(at), total)
        a_ptrs += BK
        table[-1] = table[page]
    tl.store(out_ptr + rows[:, None] * BN + columns[None, :], total)


@pytest.mark.parametrize(
    "blocks, num_warps", [((64, 64, 32), 4), ((128, 128, 64), 8), ((32, 32, 32), 1)], ids=str
)
@pytest.mark.parametrize("pages", [1, 7])
def test_run_time_indices_in_addresses_of_a_pipelined_loop(device, blocks, num_warps, pages):
    BM, BN, BK = blocks
    PAGES = 8
    a = random((BM, PAGES * BK), "fp16", seed=14)
    b = random((PAGES * BK, BN), "fp16", seed=15)
    table = np.random.default_rng(16).permutation(PAGES).astype(np.int32)
    out = device.output((BM, BN), "fp32")
    paged_kernel[(1,)](
        out.array, device.to(a), device.to(b), device.to(table), pages, *blocks, PAGES,
        num_warps=num_warps,
    )  # fmt: skip
    aa, bb = a.astype(np.float64), b.astype(np.float64)
    expected = np.zeros((BM, BN))
    for page, where in enumerate(table[:pages]):
        expected += aa[:, page * BK : (page + 1) * BK] @ bb[where * BK : (where + 1) * BK]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=2e-2)
