"""Tuples and named tuples: inside kernels, through control flow, and as arguments."""

from typing import NamedTuple

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


class Pair(NamedTuple):
    first: object
    second: object = 7


class Layout(NamedTuple):
    ptr: object
    stride: object
    block: tl.constexpr


@triton.jit
def swapped(values):
    a, b = values
    return b, a


@triton.jit
def minmax(x, y):
    return Pair(tl.minimum(x, y), second=tl.maximum(x, y))


@triton.jit
def operations_kernel(out_ptr, x, y):
    t = (x, y, x + y)
    tl.static_assert(len(t) == 3)
    tl.store(out_ptr + 0, t[0])
    tl.store(out_ptr + 1, t[-1])
    head, *rest = t
    tl.store(out_ptr + 2, rest[0] + head)
    u = t[1:] + (x * y,)
    tl.static_assert(len(u) == 3)
    tl.store(out_ptr + 3, u[2])
    b, a = swapped((x, y))
    tl.store(out_ptr + 4, b - a)
    nested = (t, (u, x))
    tl.store(out_ptr + 5, nested[1][0][2] + nested[0][1])
    p = minmax(x, y)
    tl.store(out_ptr + 6, p.first)
    tl.store(out_ptr + 7, p[1] - p.first)
    q = Pair(x)
    tl.store(out_ptr + 8, q.second + q.first)
    tl.store(out_ptr + 9, p._replace(first=y).first)
    total = 0
    for value in (x, y, 5):
        total += value
    tl.store(out_ptr + 10, total)
    doubled = [2 * value for value in t]
    tl.store(out_ptr + 11, doubled[2])
    v = tl.tuple([x, y])
    tl.store(out_ptr + 12, v[1])


def test_operations(device):
    """Tuples are joined, repeated, sliced and unpacked as in Python."""
    out = device.output(13, "i32")
    x, y = 11, -4
    operations_kernel[(1,)](out.array, x, y)
    expected = [
        x, x + y, y + x, x * y, y - x, x * y + y, min(x, y), abs(x - y), x + 7, y, x + y + 5, 2 * (x + y), y,
    ]  # fmt: skip
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def comparison_kernel(out_ptr):
    a: tl.constexpr = (1, 2, "x")
    b: tl.constexpr = (1, 2, "x")
    tl.static_assert(a == b)
    tl.static_assert(a != (1, 2))
    tl.static_assert((1, 2) != (1, 3))
    stored = (4, 5)
    tl.static_assert(stored == (4, 5))
    tl.static_assert(isinstance(stored, tl.tuple) and not isinstance(out_ptr, tl.tuple))
    tl.static_assert(isinstance(Pair(1, 2), Pair) and not isinstance(stored, Pair))
    tl.static_assert(hasattr(Pair(1), "second") and not hasattr(Pair(1), "third"))
    tl.store(out_ptr, 1)


def test_comparison(device):
    """Tuples of constants compare as in Python."""
    out = device.output(1, "i32")
    comparison_kernel[(1,)](out.array)
    assert out.numpy()[0] == 1


@triton.jit
def fibonacci_kernel(out_ptr, n):
    state = (0, 1)
    for _ in range(n):
        state = (state[1], state[0] + state[1])
    tl.store(out_ptr, state[0])
    named = Pair(n, 0)
    while named.first > 0:
        named = Pair(named.first - 1, named.second + named.first)
    tl.store(out_ptr + 1, named.second)
    if n % 2 == 0:
        result = (n, (1.5, n + 1))
    else:
        result = (-n, (2.5, n - 1))
    tl.store(out_ptr + 2, result[0])
    tl.store(out_ptr + 3, (result[1][0] * 2).to(tl.int32) + result[1][1])
    chosen = (1, n) if n > 10 else (n, 2)
    tl.store(out_ptr + 4, chosen[0] * 100 + chosen[1])


@pytest.mark.parametrize("n", [9, 20])
def test_through_control_flow(device, n):
    out = device.output(5, "i32")
    fibonacci_kernel[(1,)](out.array, n)
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    even = n % 2 == 0
    last = 101 if n > 10 else n * 100 + 2
    expected = [a, n * (n + 1) // 2, n if even else -n, 3 + n + 1 if even else 5 + n - 1]
    expected.append(100 + n if n > 10 else last)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def total_of(*values):
    total = values[0]
    for i in tl.static_range(1, len(values)):
        total += values[i]
    return total


@triton.jit
def argument_kernel(out_ptr, inputs, sizes, extra, BLOCK: tl.constexpr):
    tl.static_assert(len(inputs) == 3)
    tl.static_assert(inputs[2] is None)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < sizes[0]
    x = tl.load(inputs[0] + offsets, mask=mask)
    y = tl.load(inputs[1] + offsets, mask=mask)
    scale, (shift, mode) = extra
    z = x * scale + y + shift
    if mode == "negate":
        z = -z
    tl.store(out_ptr + offsets, total_of(z, *(x, y)), mask=offsets < sizes[1])


@pytest.mark.parametrize("mode", ["negate", "keep"])
def test_arguments(device, mode):
    """Nested tuples of arrays, numbers and constants are arguments."""
    n = 100
    x, y = random(n, "fp32", seed=1), random(n, "fp32", seed=2)
    out = device.output(n, "fp32")
    inputs = (device.to(x), device.to(y), None)
    argument_kernel[(1,)](out.array, inputs, (n, n), (2.0, (3, tl.constexpr(mode))), 128)
    z = 2 * x.astype(np.float64) + y + 3
    np.testing.assert_allclose(
        out.numpy(), (-z if mode == "negate" else z) + x + y, rtol=1e-5, atol=1e-5
    )


@triton.jit
def layout_kernel(source, target, n):
    tl.static_assert(source.block == 32)
    rows = tl.program_id(0)
    offsets = tl.arange(0, source.block)
    value = tl.load(source.ptr + rows * source.stride + offsets, mask=offsets < n)
    tl.store(target.ptr + rows * target.stride + offsets, value, mask=offsets < n)


def test_named_arguments(device):
    x = random((6, 40), "fp16", seed=3)
    out = device.output((6, 25), "fp16")
    block = tl.constexpr(32)
    layout_kernel[(6,)](Layout(device.to(x), 40, block), Layout(out.array, 25, block), 25)
    np.testing.assert_array_equal(out.numpy(), x[:, :25])


@triton.jit
def apply_kernel(out_ptr, x_ptr, functions, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    for i in tl.static_range(len(functions)):
        x = functions[i](x)
    tl.store(out_ptr + offsets, x)


@triton.jit
def square(x):
    return x * x


@triton.jit
def increment(x):
    return x + 1


@pytest.mark.parametrize("order", [0, 1])
def test_functions_in_a_tuple(device, order):
    x = random(64, "fp32", seed=4)
    out = device.output(64, "fp32")
    functions = (square, increment) if order == 0 else (increment, square)
    apply_kernel[(1,)](out.array, device.to(x), functions, 64)
    np.testing.assert_allclose(out.numpy(), x * x + 1 if order == 0 else (x + 1) ** 2, rtol=1e-6)


@triton.jit
def sum_kernel(out_ptr, pointers, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(len(pointers)):
        total += tl.load(pointers[i] + offsets)
    tl.store(out_ptr + offsets, total)


@pytest.mark.parametrize("kind", [tuple, list])
def test_many_pointers(device, kind):
    arrays = [random(32, "fp32", seed=i) for i in range(5)]
    out = device.output(32, "fp32")
    sum_kernel[(1,)](out.array, kind(device.to(x) for x in arrays), 32)
    np.testing.assert_allclose(
        out.numpy(), np.sum(arrays, axis=0, dtype=np.float64), rtol=1e-5, atol=1e-5
    )


def test_specialisation_follows_the_elements(device):
    """Values of elements are arguments, so they make no kernels of their own; their types do."""
    out = device.output(13, "i32")

    @triton.jit
    def kernel(out_ptr, t):
        tl.store(out_ptr, t[0] + t[1][0])

    def launch(t):
        return kernel[(1,)](out.array, t), int(out.numpy()[0])

    first, value = launch((3, (5, None)))
    assert value == 8
    second, value = launch((7, (9, None)))
    assert value == 16 and second is first
    third, value = launch((16, (9, None)))
    assert value == 25 and third is not first
    fourth, value = launch((1, (9, None)))
    assert value == 10 and fourth is not first


@triton.jit
def many_results(x, y):
    if x > y:
        return x, Pair(y, x + y)
    return y, Pair(x, x - y)


@triton.jit
def results_kernel(out_ptr, x, y):
    larger, rest = many_results(x, y)
    tl.store(out_ptr, larger)
    tl.store(out_ptr + 1, rest.first)
    tl.store(out_ptr + 2, rest.second)


@pytest.mark.parametrize("x,y", [(5, 3), (-2, 9)])
def test_results_of_branches(device, x, y):
    out = device.output(3, "i32")
    results_kernel[(1,)](out.array, x, y)
    np.testing.assert_array_equal(out.numpy(), [max(x, y), min(x, y), x + y if x > y else x - y])


@triton.jit
def unread_kernel(out_ptr, n):
    if n > 3:
        mixed = (n, n + 1, None)
        low = n
        high = n * 2
    else:
        mixed = (n + 2, 4, 1.5)  # noqa: F841, what differs between branches is named when it is read
        low = n + 5
        high = n - 1
    tl.store(out_ptr, low)
    tl.store(out_ptr + 1, high)


@pytest.mark.parametrize("n", [2, 9])
def test_what_differs_and_is_not_read(device, n):
    """A tuple that the branches leave in two forms is no error unless it is read, and disturbs nothing."""
    out = device.output(2, "i32")
    unread_kernel[(1,)](out.array, n)
    np.testing.assert_array_equal(out.numpy(), [n, 2 * n] if n > 3 else [n + 5, n - 1])
