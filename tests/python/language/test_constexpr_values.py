"""Compile-time values: constexpr variables, arguments equal to 1, `.value`, parameters named like launch options."""

import collections

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

NAMES = {np.float32: "fp32", np.int32: "i32"}


@triton.jit
def annotated_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    HALF: tl.constexpr = N // 2
    scale: tl.constexpr = n * 3
    low: tl.constexpr = tl.load(x_ptr)
    x = tl.load(x_ptr + offsets)
    tl.static_assert(tl.zeros((HALF,), tl.int32).shape[0] == N // 2)
    tl.store(out_ptr + offsets, tl.where(x < low, HALF, x * scale))


@pytest.mark.parametrize("n", [1, 6])
def test_constexpr_of_run_time_values(device, n):
    x = random(64, "i32", seed=1)
    out = device.output(64, "i32")
    annotated_kernel[(1,)](out.array, device.to(x), n, 64)
    np.testing.assert_array_equal(out.numpy(), np.where(x < x[0], 32, x * 3 * n))


@triton.jit
def repeated_kernel(out_ptr, x_ptr, n):
    total = 0
    for i in range(n):
        step: tl.constexpr = tl.load(x_ptr + i)
        total += step
        step += 1
        total += step
    tl.store(out_ptr, total)


def test_constexpr_of_a_run_time_value_in_a_loop(device):
    x = random(20, "i32", seed=2)
    out = device.output(1, "i32")
    repeated_kernel[(1,)](out.array, device.to(x), 20)
    assert out.numpy()[0] == 2 * x.sum() + 20


@triton.jit
def inner(x, N: tl.constexpr, AXIS: tl.constexpr = 0):
    tl.static_assert(N == 1)
    for _ in tl.static_range(N):
        x += tl.zeros((N,), tl.int32)
    return x + N.value + AXIS


@triton.jit
def one_kernel(out_ptr, x_ptr, stride, one, M: tl.constexpr, N: tl.constexpr):
    tl.static_assert(one == 1, "a compile-time value")
    WIDTH: tl.constexpr = one * 16
    offsets = tl.arange(0, WIDTH * one)
    tile = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    total = tl.sum(tile, axis=one)
    low = tl.full((one,), 0, tl.int32) + tl.arange(0, one)
    for i in tl.static_range(one, one + 2):
        total += i
    for _ in tl.range(0, 3, num_stages=one):
        total += stride
    tl.store(out_ptr + offsets * stride, inner(total, one) + tl.sum(low, 0))
    tl.store(out_ptr + WIDTH + tl.arange(0, one), tl.sum(tl.reshape(tile, (one, M * N)), one))


@pytest.mark.parametrize("one", [1, np.int64(1), np.uint8(1)])
def test_arguments_equal_to_1(device, one):
    x = random((16, 32), "i32", seed=3)
    out = device.output(17, "i32")
    one_kernel[(1,)](out.array, device.to(x), 1, one, 16, 32)
    np.testing.assert_array_equal(out.numpy(), [*(x.sum(1) + 3 + 3 + 1), x.sum()])


Pair = collections.namedtuple("Pair", ["size", "rest"])


@triton.jit
def tuple_kernel(out_ptr, pair, rest):
    tl.static_assert(pair.size == 1)
    tl.static_assert(rest[0] == 1)
    places = tl.arange(0, pair.size) + tl.arange(0, rest[0])
    tl.store(out_ptr + places, pair.rest + rest[1])


def test_ones_in_tuples(device):
    out = device.output(1, "i32")
    tuple_kernel[(1,)](out.array, Pair(1, 30), (1, 12))
    assert out.numpy()[0] == 42


@triton.jit(do_not_specialize=["n"])
def unspecialized_kernel(out_ptr, n):
    tl.store(out_ptr, n + 41)
    for i in tl.static_range(n):
        tl.store(out_ptr + i, n)


@triton.jit(do_not_specialize=["n"])
def plain_kernel(out_ptr, n):
    tl.store(out_ptr, n + 41)


def test_do_not_specialize(device):
    """A parameter that is not specialised stays a run-time value when it is 1."""
    out = device.output(1, "i32")
    first = plain_kernel[(1,)](out.array, 1)
    assert out.numpy()[0] == 42
    assert plain_kernel[(1,)](out.array, 5) is first
    with pytest.raises(triton.CompilationError, match="must be a compile-time integer"):
        unspecialized_kernel[(1,)](out.array, 1)


@triton.jit
def value_kernel(
    out_ptr, x_ptr, dtype: tl.constexpr, N: tl.constexpr, NAME: tl.constexpr, SHAPE: tl.constexpr
):
    offsets = tl.arange(0, N.value)
    tl.static_assert(dtype.value == dtype)
    tl.static_assert(dtype.value.primitive_bitwidth == 32)
    tl.static_assert(NAME.value == "scaled" and SHAPE.value[1] == 5)
    x = tl.load(x_ptr + offsets).to(dtype.value)
    tl.static_assert(x.dtype == dtype.value)
    kind: tl.constexpr = x.type
    tl.static_assert(kind.value.element_ty == dtype)
    tl.store(out_ptr + offsets, x * N.value + SHAPE.value[0])


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_value(device, kind):
    """Attributes and parts of compile-time values are Python's."""
    x = random(32, NAMES[kind], seed=4)
    out = device.output(32, NAMES[kind])
    dtype = tl.float32 if kind is np.float32 else tl.int32
    value_kernel[(1,)](out.array, device.to(x), dtype, 32, "scaled", (3, 5))
    np.testing.assert_array_equal(out.numpy(), x * kind(32) + kind(3))


@triton.jit
def apply(x, fn: tl.constexpr):
    return fn.value(x, 2)


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def function_kernel(out_ptr, x_ptr, FN: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, apply(FN.value(tl.load(x_ptr + offsets), 5), FN))


def test_value_of_a_function(device):
    x = random(32, "i32", seed=5)
    out = device.output(32, "i32")
    function_kernel[(1,)](out.array, device.to(x), add, 32)
    np.testing.assert_array_equal(out.numpy(), x + 7)


@triton.jit
def options_kernel(out_ptr, x_ptr, num_warps: tl.constexpr, num_stages, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.load(x_ptr + offsets)
    for _ in range(num_stages):
        total += num_warps
    tl.store(out_ptr + offsets, total)


def test_parameters_named_like_options(device):
    """By keyword they are both: the argument and the option, as for an autotuned configuration."""
    x = random(128, "i32", seed=6)
    out = device.output(128, "i32")
    given = device.to(x)
    kernel = options_kernel[(1,)](out.array, given, num_warps=8, num_stages=3, N=128)
    np.testing.assert_array_equal(out.numpy(), x + 24)
    assert kernel.metadata.num_warps == 8 and kernel.metadata.num_stages == 3
    for stages in (2, 4, 4, 2, 1):  # an argument, and another kernel each
        for _ in range(3):
            kernel = options_kernel[(1,)](out.array, given, num_warps=2, num_stages=stages, N=128)
            np.testing.assert_array_equal(out.numpy(), x + 2 * stages)
            assert kernel.metadata.num_stages == stages
    kernel = options_kernel[(1,)](out.array, given, 2, 5, 128)
    np.testing.assert_array_equal(out.numpy(), x + 10)
    assert kernel.metadata.num_warps == 4
