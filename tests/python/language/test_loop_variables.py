"""The variable of a loop keeps its last value after the loop, as in Python."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

BOUNDS = [(0, 10, 1), (3, 4, 1), (0, 100, 7), (-20, -3, 5), (5, 5, 1), (7, 2, 3)]


def last(values, none):
    return values[-1] if len(values) else none


@triton.jit
def range_kernel(out_ptr, start, stop, step):
    i = 777
    total = 0
    for i in range(start, stop, step):
        total += i
    tl.store(out_ptr, i)
    tl.store(out_ptr + 1, total)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_run_time_bounds(device, bounds):
    out = device.output(2, "i32")
    range_kernel[(1,)](out.array, *bounds)
    values = range(*bounds)
    np.testing.assert_array_equal(out.numpy(), [last(values, 777), sum(values)])


@triton.jit
def down_kernel(out_ptr, start, stop, STEP: tl.constexpr):
    i = -5
    for i in range(start, stop, STEP):
        tl.store(out_ptr + 1, i)
    tl.store(out_ptr, i)


@pytest.mark.parametrize("bounds", [(10, 0, -1), (9, -5, -3), (0, 0, -2), (-3, 4, -1), (7, 6, -9)])
def test_counting_down(device, bounds):
    out = device.output(2, "i32")
    down_kernel[(1,)](out.array, *bounds)
    values = range(*bounds)
    untouched = int.from_bytes(b"\xa5" * 4, "little", signed=True)
    np.testing.assert_array_equal(out.numpy(), [last(values, -5), last(values, untouched)])


@triton.jit
def first_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for block in range(n):
        total += tl.load(x_ptr + block * N + offsets)
    tl.store(out_ptr + offsets, total + block)


@pytest.mark.parametrize("n", [1, 5])
def test_variable_that_the_loop_makes(device, n):
    x = random((5, 32), "fp32", seed=1)
    out = device.output(32, "fp32")
    first_kernel[(1,)](out.array, device.to(x), n, 32)
    np.testing.assert_allclose(out.numpy(), x[:n].sum(0) + n - 1, rtol=1e-5, atol=1e-5)


@triton.jit
def start_kernel(out_ptr, start, stop):
    for i in range(start, stop):
        tl.store(out_ptr + 1, i)
    tl.store(out_ptr, i)


def test_without_iterations_or_a_value_it_is_the_start(device):
    out = device.output(2, "i32")
    start_kernel[(1,)](out.array, 12, 3)
    assert out.numpy()[0] == 12


@triton.jit
def constant_kernel(out_ptr):
    for i in range(3, 50, 4):
        pass
    tl.store(out_ptr + tl.arange(8, 16), tl.full((8,), i, tl.int32))
    tl.static_assert(i == 47)
    for i in tl.static_range(5):
        tl.store(out_ptr + i, 2 * i)
    tl.store(out_ptr + 5, i)
    tl.static_assert(i == 4)
    for i in range(0):
        pass
    tl.store(out_ptr + 6, i * 10)
    tl.store(out_ptr + 7, -i)


def test_known_bounds(device):
    """After loops over compile-time ranges their variables have the last value."""
    out = device.output(16, "i32")
    constant_kernel[(1,)](out.array)
    np.testing.assert_array_equal(out.numpy(), [0, 2, 4, 6, 8, 4, 40, -4] + [47] * 8)


@triton.jit
def break_kernel(out_ptr, x_ptr, n, limit):
    i = -1
    total = 0
    for i in range(n):
        total += tl.load(x_ptr + i)
        if total > limit:
            break
    tl.store(out_ptr, i)
    tl.store(out_ptr + 1, total)


@pytest.mark.parametrize("n, limit", [(40, 300), (40, 10**6), (3, 300), (0, 300), (40, -1)])
def test_break(device, n, limit):
    """After `break` the variable has the value of the last iteration."""
    x = random(40, "i32", seed=2, low=0)
    i, total = -1, 0
    for i in range(n):
        total += int(x[i])
        if total > limit:
            break
    out = device.output(2, "i32")
    break_kernel[(1,)](out.array, device.to(x), n, limit)
    np.testing.assert_array_equal(out.numpy(), [i, total])


@triton.jit
def static_break_kernel(out_ptr, x_ptr, wanted, N: tl.constexpr):
    for i in tl.static_range(N):
        if tl.load(x_ptr + i) == wanted:
            break
    tl.store(out_ptr, i)


@pytest.mark.parametrize("place", [0, 3, 7])
def test_break_of_an_unrolled_loop(device, place):
    x = np.random.default_rng(3).permutation(8).astype(np.int32)
    out = device.output(1, "i32")
    static_break_kernel[(1,)](out.array, device.to(x), int(x[place]), 8)
    assert out.numpy()[0] == place


@triton.jit
def changed_kernel(out_ptr, n):
    i = 5
    for i in range(n):
        if i % 3 == 1:
            continue
        i = i * 10
    tl.store(out_ptr, i)


@pytest.mark.parametrize("n", range(6))
def test_body_that_assigns_the_variable(device, n):
    i = 5
    for i in range(n):
        if i % 3 == 1:
            continue
        i = i * 10
    out = device.output(1, "i32")
    changed_kernel[(1,)](out.array, n)
    assert out.numpy()[0] == i


@triton.jit
def nested_kernel(out_ptr, n, m, STEP: tl.constexpr):
    total = 0
    for i in range(n):
        for j in range(i, m, STEP):
            total += j
        total += 1000 * j
    tl.store(out_ptr, i)
    tl.store(out_ptr + 1, j)
    tl.store(out_ptr + 2, total)


@pytest.mark.parametrize("n, m", [(1, 1), (3, 20), (5, 2), (7, 7)])
def test_nested_loops(device, n, m):
    """`j` lives on in the outer loop and after it, also where the inner loop no longer runs."""
    total = 0
    for i in range(n):
        for j in range(i, m, 2):
            total += j
        total += 1000 * j
    out = device.output(3, "i32")
    nested_kernel[(1,)](out.array, n, m, 2)
    np.testing.assert_array_equal(out.numpy(), [i, j, total])


@triton.jit
def shared_kernel(out_ptr, n, m):
    i = 3
    for j in range(n):
        for i in range(m):
            tl.store(out_ptr + 2, i + j)
        i += j
    tl.store(out_ptr, i)
    tl.store(out_ptr + 1, j)


@pytest.mark.parametrize("n, m", [(4, 6), (4, 0), (1, 1)])
def test_variable_from_before_both_loops(device, n, m):
    i = 3
    for j in range(n):
        for i in range(m):
            pass
        i += j
    out = device.output(3, "i32")
    shared_kernel[(1,)](out.array, n, m)
    np.testing.assert_array_equal(out.numpy()[:2], [i, j])


@triton.jit
def same_name_kernel(out_ptr, n, m):
    total = 0
    for i in range(n):
        total += i
        for i in range(10, m):
            total += 2 * i
        total += 100 * i
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, i)


@pytest.mark.parametrize("n, m", [(3, 14), (3, 4), (1, 11)])
def test_inner_loop_with_the_same_name(device, n, m):
    total = 0
    for i in range(n):
        total += i
        for i in range(10, m):
            total += 2 * i
        total += 100 * i
    out = device.output(2, "i32")
    same_name_kernel[(1,)](out.array, n, m)
    np.testing.assert_array_equal(out.numpy(), [total, i])


@triton.jit
def else_kernel(out_ptr, n, limit):
    i = 0
    for i in range(n):
        if i == limit:
            break
    else:
        tl.store(out_ptr + 1, i + 100)
    tl.store(out_ptr, i)


@pytest.mark.parametrize("n, limit", [(9, 4), (9, 20), (0, 1)])
def test_else(device, n, limit):
    """The `else` of a loop sees its variable."""
    out = device.output(2, "i32")
    else_kernel[(1,)](out.array, n, limit)
    i = 0 if n == 0 else min(limit, n - 1)
    assert out.numpy()[0] == i
    if limit >= n:
        assert out.numpy()[1] == i + 100


@triton.jit
def wide_kernel(out_ptr, start, stop):
    i = 2
    for i in range(start.to(tl.int64), stop, 1 << 33):
        tl.store(out_ptr + 1, i)
    tl.store(out_ptr, i)


@pytest.mark.parametrize("bounds", [(5, 2**40), (-(2**40), 3), (9, 8)])
def test_indices_of_64_bits(device, bounds):
    out = device.output(2, "i64")
    wide_kernel[(1,)](out.array, *bounds)
    assert out.numpy()[0] == last(range(*bounds, 1 << 33), 2)


@triton.jit
def unsigned_kernel(out_ptr, start, stop):
    for i in range(start, stop, 3):
        tl.store(out_ptr + 1, i)
    tl.store(out_ptr, i)


def test_unsigned_indices(device):
    bounds = (2**32 - 50, 2**32 - 8)
    out = device.output(2, "u32")
    unsigned_kernel[(1,)](out.array, *bounds)
    np.testing.assert_array_equal(out.numpy(), [range(*bounds, 3)[-1]] * 2)


@triton.jit
def called(n):
    for i in range(n):
        if i * i > 50:
            return i
    return i + 1000


@triton.jit
def while_kernel(out_ptr, n):
    k = 0
    while k < n:
        for i in range(k, 2 * k + 1):
            tl.store(out_ptr + 3, i)
        k += i + 1
    tl.store(out_ptr, i)
    tl.store(out_ptr + 1, k)
    tl.store(out_ptr + 2, called(n))


@pytest.mark.parametrize("n", [1, 4, 30])
def test_while_around_it_and_returns(device, n):
    k = 0
    while k < n:
        for i in range(k, 2 * k + 1):
            pass
        k += i + 1
    out = device.output(4, "i32")
    while_kernel[(1,)](out.array, n)
    np.testing.assert_array_equal(out.numpy()[:3], [i, k, 8 if n > 8 else n - 1 + 1000])


@triton.jit
def dot_kernel(out_ptr, x_ptr, y_ptr, K, N: tl.constexpr, KEEPS: tl.constexpr):
    rows, depth = tl.arange(0, N), tl.arange(0, N)
    total = tl.zeros((N, N), tl.float32)
    for k in tl.range(0, K, N, num_stages=3):
        x = tl.load(x_ptr + rows[:, None] * K + k + depth[None, :])
        y = tl.load(y_ptr + (k + depth[:, None]) * N + rows[None, :])
        total = tl.dot(x, y, total)
    if KEEPS:
        total += k
    tl.store(out_ptr + rows[:, None] * N + rows[None, :], total)


@pytest.mark.parametrize("keeps", [False, True])
def test_pipelined_loop(device, keeps):
    x, y = random((64, 256), "fp16", seed=4), random((256, 64), "fp16", seed=5)
    out = device.output((64, 64), "fp32")
    kernel = dot_kernel[(1,)](out.array, device.to(x), device.to(y), 256, 64, keeps)
    expected = x.astype(np.float32) @ y.astype(np.float32) + (192 if keeps else 0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    if "ptx" in kernel.asm:
        assert "cp.async" in kernel.asm["ptx"]


def refused(kernel, *args):
    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](np.zeros(4, np.float32), *args)
    return str(caught.value)


def test_loop_that_is_known_not_to_run():
    @triton.jit
    def kernel(out_ptr):
        for i in range(3, 3):
            pass
        tl.store(out_ptr, i)

    assert "`i` has no value: the loop runs no iteration" in refused(kernel)


def test_value_of_another_type_before_the_loop():
    @triton.jit
    def kernel(out_ptr, n):
        i = 1.5
        for i in range(n):
            pass
        tl.store(out_ptr, i)

    assert "`i` is `fp32` before the loop and `int32` after an iteration" in refused(kernel, 3)


def test_unused_variables_may_change_their_type(device):
    out = device.output(16, "fp32")
    retyped_kernel[(1,)](out.array, 3)
    np.testing.assert_array_equal(out.numpy(), [0.5] * 16)


@triton.jit
def retyped_kernel(out_ptr, n):
    i = tl.arange(0, 16)
    places = out_ptr + i
    for i in range(n):
        tl.store(places, i + 0.5 - i)
