"""Loops, branches, calls, compile-time values."""

import matmul_kernels
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

FACTOR = tl.constexpr(3)


@triton.jit
def loop_kernel(out_ptr, start, stop, STEP: tl.constexpr):
    total = 0
    count = 0
    for i in range(start, stop, STEP):
        total += i
        count += 1
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, count)


@pytest.mark.parametrize(
    "bounds", [(0, 10, 1), (3, 4, 1), (5, 5, 1), (7, 2, 1), (0, 100, 7), (10, 0, -1), (9, -5, -3)]
)
def test_for(device, bounds):
    """A loop runs as often as Python's `range`."""
    out = device.output(2, "i32")
    loop_kernel[(1,)](out.array, bounds[0], bounds[1], bounds[2])
    values = list(range(*bounds))
    np.testing.assert_array_equal(out.numpy(), [sum(values), len(values)])


@triton.jit
def collatz_kernel(out_ptr, x_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(out_ptr + pid, steps)


def collatz(x):
    steps = 0
    while x != 1:
        x, steps = (x // 2 if x % 2 == 0 else 3 * x + 1), steps + 1
    return steps


def test_while(device):
    """A loop under a run-time condition runs as often as Python's."""
    x = np.arange(1, 40, dtype=np.int32)
    out = device.output(len(x), "i32")
    collatz_kernel[(len(x),)](out.array, device.to(x))
    np.testing.assert_array_equal(out.numpy(), [collatz(int(v)) for v in x])


@triton.jit
def early_return_kernel(out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out_ptr + pid, pid * 10)


def test_early_return(device):
    out = device.output(8, "fp32")
    early_return_kernel[(8,)](out.array, 5)
    result = out.numpy()
    np.testing.assert_array_equal(result[:5], [0, 10, 20, 30, 40])
    assert np.isnan(result[5:]).all()


@triton.jit
def branch_kernel(out_ptr, x_ptr, which, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    if which == 0:
        y = x * 2
        z = x
    elif which == 1:
        y = x + 1
        z = x * x
    else:
        y = -x
        z = x - x
    tl.store(out_ptr + offsets, y + z)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_run_time_branches(device, which):
    x = random(32, "fp32", seed=1)
    out = device.output(32, "fp32")
    branch_kernel[(1,)](out.array, device.to(x), which, 32)
    np.testing.assert_allclose(out.numpy(), [x * 2 + x, x + 1 + x * x, -x][which], rtol=1e-6)


@triton.jit
def pointers_in_loop_kernel(out_ptr, x_ptr, steps, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    pointers = x_ptr + offsets
    for _ in range(steps):
        total += tl.load(pointers)
        pointers += N
    tl.store(out_ptr + offsets, total)


def test_loop_carries_pointers(device):
    x = random((10, 64), "fp32", seed=2)
    out = device.output(64, "fp32")
    pointers_in_loop_kernel[(1,)](out.array, device.to(x), 10, 64)
    np.testing.assert_allclose(out.numpy(), x.sum(0), rtol=1e-5, atol=1e-5)


@triton.jit
def call_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    low, high = bounds(x, margin=0.5)
    tl.store(out_ptr + offsets, clamped(x * FACTOR, low, high))


@triton.jit
def bounds(x, margin, SCALE: tl.constexpr = 2):
    return tl.min(x, 0) * SCALE - margin, tl.max(x, 0) * SCALE + margin


@triton.jit
def clamped(x, low, high):
    return tl.minimum(tl.maximum(x, low), high)


def test_calls_with_defaults_keywords_and_tuples(device):
    x = random(64, "fp32", seed=3)
    out = device.output(64, "fp32")
    call_kernel[(1,)](out.array, device.to(x), 64)
    np.testing.assert_allclose(
        out.numpy(), np.clip(x * 3, x.min() * 2 - 0.5, x.max() * 2 + 0.5), rtol=1e-6
    )


@triton.jit
def power(x, N: tl.constexpr):
    if N == 0:
        return x * 0 + 1
    else:
        return x * power(x, N - 1)


@triton.jit
def power_kernel(out_ptr, x, N: tl.constexpr):
    tl.store(out_ptr, power(x, N))


def test_recursion_over_a_constant(device):
    out = device.output(1, "i32")
    power_kernel[(1,)](out.array, 3, 5)
    assert out.numpy()[0] == 243


@triton.jit
def static_range_kernel(out_ptr, COUNT: tl.constexpr):
    for i in tl.static_range(COUNT):
        width: tl.constexpr = i * 2 + 1
        tl.store(out_ptr + i, width)


def test_static_range(device):
    out = device.output(4, "i32")
    static_range_kernel[(1,)](out.array, 4)
    np.testing.assert_array_equal(out.numpy(), [1, 3, 5, 7])


@triton.jit
def optional_kernel(out_ptr, x_ptr, bias_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offsets)
    tl.store(out_ptr + offsets, x)


def test_none_as_an_argument(device):
    x, bias = random(32, "fp32", seed=4), random(32, "fp32", seed=5)
    for given in (None, bias):
        out = device.output(32, "fp32")
        optional_kernel[(1,)](
            out.array, device.to(x), None if given is None else device.to(given), 32
        )
        np.testing.assert_array_equal(out.numpy(), x if given is None else x + bias)


@triton.jit
def function_argument_kernel(out_ptr, x_ptr, N: tl.constexpr, FN: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, FN(tl.load(x_ptr + offsets)))


@triton.jit
def square(x):
    return x * x


@triton.jit
def twice(x):
    return x + x


def test_function_as_an_argument(device):
    x = random(32, "fp32", seed=6)
    for function, expected in [(square, x * x), (twice, x + x)]:
        out = device.output(32, "fp32")
        function_argument_kernel[(1,)](out.array, device.to(x), 32, function)
        np.testing.assert_array_equal(out.numpy(), expected)


def test_kernel_inside_a_function(device):
    scale = tl.constexpr(7)

    @triton.jit
    def inner(out_ptr, N: tl.constexpr):
        """A kernel that captures `scale`."""
        offsets = tl.arange(0, N)
        tl.store(out_ptr + offsets, helper(offsets))

    @triton.jit
    def helper(x):
        return x * scale

    out = device.output(16, "i32")
    inner[(1,)](out.array, 16)
    np.testing.assert_array_equal(out.numpy(), np.arange(16) * 7)


class Settings:
    WIDTH = 16
    SCALE = tl.constexpr(4)


@triton.jit
def module_kernel(out_ptr):
    offsets = tl.arange(0, Settings.WIDTH)
    x = matmul_kernels.leaky_relu((offsets - 8).to(tl.float32) * 100)
    tl.store(out_ptr + offsets, x * Settings.SCALE)


def test_members_of_modules_and_classes(device):
    out = device.output(16, "fp32")
    module_kernel[(1,)](out.array)
    x = (np.arange(16) - 8) * 100.0
    np.testing.assert_allclose(out.numpy(), np.where(x >= 0, x, 0.01 * x) * 4, rtol=1e-6)


@triton.jit
def minmax_kernel(out_ptr, a, b, C: tl.constexpr):
    tl.store(out_ptr, min(a, b))
    tl.store(out_ptr + 1, max(a, C))
    tl.store(out_ptr + 2, a if a < b else b * 2)
    tl.store(out_ptr + 3, tl.cdiv(a, C))


def test_python_names(device):
    out = device.output(4, "i32")
    minmax_kernel[(1,)](out.array, 9, 5, 4)
    np.testing.assert_array_equal(out.numpy(), [5, 9, 10, 3])


@triton.jit
def atomic_kernel(counter_ptr, seen_ptr):
    old = tl.atomic_add(counter_ptr, 1)
    tl.store(seen_ptr + old, 1)


def test_atomic_add_across_programs(device):
    counter = device.to(np.zeros(1, np.int32))
    seen = device.output(100, "i32")
    atomic_kernel[(100,)](counter, seen.array)
    assert device.numpy(counter)[0] == 100
    np.testing.assert_array_equal(seen.numpy(), np.ones(100))


@triton.jit
def lock_kernel(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_spin_lock(device):
    lock, total = device.to(np.zeros(1, np.int32)), device.to(np.zeros(1, np.int32))
    lock_kernel[(50,)](lock, total)
    assert device.numpy(total)[0] == sum(range(50))


@triton.jit
def truth_kernel(out_ptr, x_ptr, bias_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x_ptr += 2
    mask = (offsets < n) and (offsets != 3)
    x = tl.load(x_ptr + offsets, mask=mask, other=-1.0)
    if bias_ptr:
        x += tl.load(bias_ptr)
    tl.store(out_ptr + offsets, x, mask=offsets >= 0 or mask)


def test_truth_of_pointers_and_logic_of_tiles(device):
    x, bias = np.arange(16, dtype=np.float32), np.full(1, 100, np.float32)
    expected = np.where((np.arange(8) < 6) & (np.arange(8) != 3), np.arange(8) + 2.0, -1.0)
    for given in (None, bias):
        out = device.output(8, "fp32")
        pointer = None if given is None else device.to(given)
        truth_kernel[(1,)](out.array, device.to(x), pointer, 6, 8)
        np.testing.assert_array_equal(out.numpy(), expected + (0 if given is None else 100))


def plain_function(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)


def test_decorators_as_functions(device):
    kernel = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})(
        triton.jit(plain_function)
    )
    x, out = random(100, "fp32", seed=7), device.output(100, "fp32")
    kernel[(1,)](out.array, device.to(x), 100)
    np.testing.assert_array_equal(out.numpy(), x * 2)
