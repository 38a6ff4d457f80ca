"""`break`, `continue` and `return` in loops, and `else` after them: extensions of the language."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


def integers(count, seed, high=100):
    return np.random.default_rng(seed).integers(0, high, count).astype(np.int32)


@triton.jit
def first_above_kernel(out_ptr, x_ptr, n, limit):
    position = -1
    seen = 0
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x > limit:
            position = i
            break
        seen += x
    tl.store(out_ptr, position)
    tl.store(out_ptr + 1, seen)


@pytest.mark.parametrize("limit", [-1, 60, 97, 1000])
def test_break_in_for(device, limit):
    x = integers(50, 1)
    out = device.output(2, "i32")
    first_above_kernel[(1,)](out.array, device.to(x), len(x), limit)
    found = np.flatnonzero(x > limit)
    position = found[0] if len(found) else -1
    np.testing.assert_array_equal(
        out.numpy(), [position, x[: position if len(found) else 50].sum()]
    )


@triton.jit
def skips_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    count = 0
    for i in range(0, n, 2):
        key = tl.load(x_ptr + i * N)
        if key % 3 == 0:
            continue
        if key % 5 == 0:
            count += 100
            if key % 2 == 0:
                continue
            count += 1000
        elif key % 7 == 0:
            break
        total += tl.load(x_ptr + i * N + offsets)
        count += 1
    tl.store(out_ptr + offsets, total)
    tl.store(out_ptr + N, count)


def skips(x):
    total, count = np.zeros(x.shape[1], np.int32), 0
    for row in x[::2]:
        key = row[0]
        if key % 3 == 0:
            continue
        if key % 5 == 0:
            count += 100
            if key % 2 == 0:
                continue
            count += 1000
        elif key % 7 == 0:
            break
        total += row
        count += 1
    return [*total, count]


@pytest.mark.parametrize("seed", range(6))
def test_continue_and_break_in_nested_ifs(device, seed):
    x = integers((41, 32), 10 + seed)
    out = device.output(33, "i32")
    skips_kernel[(1,)](out.array, device.to(x), len(x), 32)
    np.testing.assert_array_equal(out.numpy(), skips(x))


@triton.jit
def find(x_ptr, n, wanted):
    i = 0
    while True:
        if i >= n:
            return -1, i * 10
        if tl.load(x_ptr + i) == wanted:
            return i, i
        i += 1


@triton.jit
def find_in_rows(x_ptr, rows, columns, wanted):
    for row in range(rows):
        for column in range(columns):
            if tl.load(x_ptr + row * columns + column) == wanted:
                return row * 1000 + column
    return -1


@triton.jit
def find_kernel(out_ptr, x_ptr, wanted_ptr, rows, columns):
    wanted = tl.load(wanted_ptr + tl.program_id(0))
    position, steps = find(x_ptr, rows * columns, wanted)
    out_ptr += tl.program_id(0) * 3
    tl.store(out_ptr, position)
    tl.store(out_ptr + 1, steps)
    tl.store(out_ptr + 2, find_in_rows(x_ptr, rows, columns, wanted))


def test_return_in_loops(device):
    x, wanted = integers((7, 9), 20), np.arange(30, dtype=np.int32)
    out = device.output((30, 3), "i32")
    find_kernel[(30,)](out.array, device.to(x), device.to(wanted), 7, 9)
    expected = []
    for value in wanted:
        found = np.flatnonzero(x == value)
        at = found[0] if len(found) else -1
        expected.append([at, at, at // 9 * 1000 + at % 9] if len(found) else [-1, 630, -1])
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def kernel_returns_kernel(out_ptr, x_ptr, n):
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x == 0:
            return
        tl.store(out_ptr + i, x)
    tl.store(out_ptr + n, 1)


@pytest.mark.parametrize("stop", [0, 5, 16])
def test_return_from_the_kernel(device, stop):
    x = np.arange(1, 17, dtype=np.int32)
    x[stop:] = 0
    out = device.output(17, "fp32")
    kernel_returns_kernel[(1,)](out.array, device.to(x), 16)
    result = out.numpy()
    np.testing.assert_array_equal(result[:stop], x[:stop])
    assert np.isnan(result[stop:16]).all()
    assert (result[16] == 1) == (stop == 16)


@triton.jit
def else_kernel(out_ptr, x_ptr, n, limit):
    found = 0
    for i in range(n):
        if tl.load(x_ptr + i) > limit:
            found = 1
            break
    else:
        found = 2
    k = n
    while k > 0:
        k -= 1
        if tl.load(x_ptr + k) <= limit:
            continue
        if k % 2 == 1:
            break
    else:
        found += 10
    for i in range(n):
        found += 100
    else:
        found += 1000
    tl.store(out_ptr, found)
    tl.store(out_ptr + 1, k)


@pytest.mark.parametrize("limit", [20, 95, 99])
def test_else_of_loops(device, limit):
    x = integers(16, 30)
    out = device.output(2, "i32")
    else_kernel[(1,)](out.array, device.to(x), 16, limit)
    odd = [k for k in range(1, 16, 2) if x[k] > limit]
    expected = (1 if (x > limit).any() else 2) + (0 if odd else 10) + 1600 + 1000
    np.testing.assert_array_equal(out.numpy(), [expected, odd[-1] if odd else 0])


@triton.jit
def unrolled_kernel(out_ptr, x_ptr, COUNT: tl.constexpr, STOP: tl.constexpr):
    total = 0
    last = -1
    for i in tl.static_range(COUNT):
        if i == STOP:
            break
        if i % 3 == 1:
            continue
        x = tl.load(x_ptr + i)
        if x > 90:
            last = i
            break
        if x < 20:
            continue
        total += x
    else:
        total += 10000
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, last)


def unrolled(x, stop):
    total, last = 0, -1
    for i in range(len(x)):
        if i == stop:
            break
        if i % 3 == 1:
            continue
        if x[i] > 90:
            last = i
            break
        if x[i] < 20:
            continue
        total += x[i]
    else:
        total += 10000
    return [total, last]


@pytest.mark.parametrize("stop", [0, 3, 100])
def test_exits_of_unrolled_loops(device, stop):
    for seed in range(4):
        x = integers(8, 40 + seed)
        out = device.output(2, "i32")
        unrolled_kernel[(1,)](out.array, device.to(x), 8, stop)
        np.testing.assert_array_equal(out.numpy(), unrolled(x, stop))


@triton.jit
def nested_kernel(out_ptr, x_ptr, n):
    total = 0
    rounds = 0
    for i in range(n):
        rounds += 1
        j = 0
        while j < n:
            x = tl.load(x_ptr + i * n + j)
            j += 1
            if x < 10:
                continue
            if x > 80:
                break
            for k in tl.static_range(3):
                if x % (k + 2) == 0:
                    break
                total += k
            total += x
        if total > 1500:
            break
    else:
        rounds = -rounds
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, rounds)


def nested(x):
    total, rounds = 0, 0
    for row in x:
        rounds += 1
        for value in row:
            if value < 10:
                continue
            if value > 80:
                break
            for k in range(3):
                if value % (k + 2) == 0:
                    break
                total += k
            total += value
        if total > 1500:
            break
    else:
        rounds = -rounds
    return [total, rounds]


@pytest.mark.parametrize("n", [4, 8, 40])
def test_nested_loops(device, n):
    """`break` and `continue` leave the loop that they stand in."""
    x = integers((n, n), 50 + n)
    out = device.output(2, "i32")
    nested_kernel[(1,)](out.array, device.to(x), n)
    np.testing.assert_array_equal(out.numpy(), nested(x))


@triton.jit
def tiles_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    """Newton's method on a tile, until it no longer changes."""
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    root = x
    for step in range(n):
        better = 0.5 * (root + x / root)
        change = tl.max(tl.abs(better - root), 0)
        root = better
        if change < 1e-4:
            break
    tl.store(out_ptr + offsets, root)


def test_break_with_carried_tiles(device):
    x = np.random.default_rng(60).uniform(1, 50, 128).astype(np.float32)
    out = device.output(128, "fp32")
    tiles_kernel[(1,)](out.array, device.to(x), 1000, 128)
    np.testing.assert_allclose(out.numpy(), np.sqrt(x), rtol=1e-5)


@triton.jit
def wide_kernel(out_ptr, start, stop, STEP: tl.constexpr):
    count = 0
    last = start
    for i in range(start, stop, STEP):
        count += 1
        last = i
        if count == 1000:
            break
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, last)


@pytest.mark.parametrize(
    "bounds",
    [
        (2**31 - 10, 2**31 - 1, 4),
        (-(2**31), 2**31 - 1, 2**30),
        (5, -20, -7),
        (3, 3, 2),
        (0, 5000, 3),
    ],
)
def test_bounds_of_a_loop_with_break(device, bounds):
    out = device.output(2, "i32")
    wide_kernel[(1,)](out.array, *bounds)
    values = list(range(*bounds))[:1000]
    np.testing.assert_array_equal(out.numpy(), [len(values), values[-1] if values else bounds[0]])


@triton.jit
def loops_in_else_kernel(out_ptr, x_ptr, n, limit):
    total = 0
    for i in range(n):
        if tl.load(x_ptr + i) > limit:
            break
    else:
        for j in range(n):
            total += tl.load(x_ptr + j)
            if total > 300:
                break
        else:
            total = -total
    tl.store(out_ptr, total)


@pytest.mark.parametrize(("limit", "n"), [(10, 16), (99, 16), (99, 4)])
def test_loops_in_else(device, limit, n):
    x = integers(n, 70)
    out = device.output(1, "i32")
    loops_in_else_kernel[(1,)](out.array, device.to(x), n, limit)
    total = 0
    if not (x > limit).any():
        for value in x:
            total += value
            if total > 300:
                break
        else:
            total = -total
    assert out.numpy()[0] == total


@triton.jit
def unroll_kernel(out_ptr, x_ptr, start, stop, STEP: tl.constexpr, FACTOR: tl.constexpr):
    total = 0
    swap = 1
    for i in tl.range(start, stop, STEP, loop_unroll_factor=FACTOR):
        total, swap = swap + i, total * 3
        if swap > 100:
            total -= tl.load(x_ptr + i % 8)
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, swap)


@pytest.mark.parametrize("factor", [2, 3, 8])
@pytest.mark.parametrize("bounds", [(0, 24, 1), (5, 30, 3), (2, 2, 1), (20, 1, -2), (7, 8, 5)])
def test_unroll_factor(device, bounds, factor):
    x = integers(8, 80)
    out = device.output(2, "i32")
    unroll_kernel[(1,)](out.array, device.to(x), *bounds, factor)
    total, swap = 0, 1
    for i in range(*bounds):
        total, swap = (swap + i + 2**31) % 2**32 - 2**31, (total * 3 + 2**31) % 2**32 - 2**31
        if swap > 100:
            total = (total - int(x[i % 8]) + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out.numpy(), [total, swap])


@triton.jit
def first_square_above(x):
    for i in range(10):
        if i * i > x:
            return i
    else:
        return 100


@triton.jit
def last_positive(x_ptr, n):
    while n > 0:
        if tl.load(x_ptr + n - 1) > 50:
            return n
        n -= 1
    return n - 1


@triton.jit
def returns_counters_kernel(out_ptr, x_ptr, n):
    tl.store(out_ptr, first_square_above(n))
    tl.store(out_ptr + 1, first_square_above(n * 1000))
    tl.store(out_ptr + 2, last_positive(x_ptr, n))
    tl.store(out_ptr + 3, last_positive(x_ptr, 0))


def test_return_of_what_the_loop_carries(device):
    x = integers(20, 90)
    out = device.output(4, "i32")
    returns_counters_kernel[(1,)](out.array, device.to(x), 20)
    above = np.flatnonzero(x > 50)
    np.testing.assert_array_equal(out.numpy(), [5, 100, above[-1] + 1, -1])


@triton.jit
def ends_at_once_kernel(c_ptr, a_ptr, b_ptr, LAST: tl.constexpr):
    rows, columns, inner = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 32)
    a = tl.load(a_ptr + rows[:, None] * 32 + inner[None, :])
    acc = tl.zeros((64, 128), tl.float32)
    for i in range(0, LAST):
        if i * 32 == 0:
            break
        p = tl.dot(a, tl.load(b_ptr + i * 4096 + inner[:, None] * 128 + columns[None, :]))
        acc += tl.exp2(tl.minimum(p, 4.0))
        acc += tl.dot(a, tl.load(b_ptr + inner[:, None] * 128 + columns[None, :]))
    tl.store(c_ptr + rows[:, None] * 128 + columns[None, :], acc)


@pytest.mark.parametrize("num_stages", [1, 3])
@pytest.mark.parametrize("last", [0, 5])
def test_accumulators_of_a_loop_that_ends_at_once(device, last, num_stages):
    """ptxas 13.0 drops such a loop and the zeros that its accumulators begin with."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, n).astype(np.float16) for n in (64 * 32, 5 * 4096))
    out = device.output((64, 128), "fp32")
    ends_at_once_kernel[(1,)](
        out.array, device.to(a), device.to(b), LAST=last, num_stages=num_stages
    )
    np.testing.assert_array_equal(out.numpy(), np.zeros((64, 128), np.float32))
