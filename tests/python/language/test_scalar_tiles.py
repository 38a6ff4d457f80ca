"""A scalar indexed with `None` and `:` is a tile of one element, a dimension for each `None`."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def row_kernel(out_ptr, x_ptr, s_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    places = rows[:, None] * N + columns[None, :]
    scale = tl.load(s_ptr)
    tl.static_assert(scale[None, :].shape == (1,))
    tl.store(out_ptr + places, tl.load(x_ptr + places) * scale[None, :])


@triton.jit
def column_kernel(out_ptr, x_ptr, s_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    places = rows[:, None] * N + columns[None, :]
    scale = tl.load(s_ptr)
    tl.static_assert(scale[:, None].shape == (1,))
    tl.store(out_ptr + places, scale[:, None] * tl.load(x_ptr + places))


@triton.jit
def both_kernel(out_ptr, x_ptr, s_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    places = rows[:, None] * N + columns[None, :]
    scale = tl.load(s_ptr)[None, None]
    tl.static_assert(scale.shape == (1, 1))
    tl.store(out_ptr + places, tl.broadcast_to(scale, (M, N)) * tl.load(x_ptr + places))


@pytest.mark.parametrize("kernel", [row_kernel, column_kernel, both_kernel])
@pytest.mark.parametrize("dtype", ["fp32", "i32"])
def test_product_with_an_indexed_scalar(device, kernel, dtype):
    x, s = random((16, 32), dtype, seed=1), random(1, dtype, seed=2)
    out = device.output((16, 32), dtype)
    kernel[(1,)](out.array, device.to(x), device.to(s), 16, 32)
    np.testing.assert_array_equal(out.numpy(), x * s[0])


@triton.jit
def vector_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + n[None] * tl.program_id(0)[None, :])


@pytest.mark.parametrize("n", [1, 7])
def test_arguments_and_program_numbers(device, n):
    """An argument equal to 1 is a compile-time number, and is indexed all the same."""
    x = random(64, "i32", seed=3)
    out = device.output(64, "i32")
    vector_kernel[(1,)](out.array, device.to(x), n, 64)
    np.testing.assert_array_equal(out.numpy(), x)


@triton.jit
def constant_kernel(out_ptr, x_ptr, SCALE: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.static_assert(SCALE[None, None].shape == (1, 1))
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * SCALE[None, :])


def test_compile_time_numbers(device):
    x = random(32, "fp32", seed=4)
    out = device.output(32, "fp32")
    constant_kernel[(1,)](out.array, device.to(x), 2.5, 32)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(2.5))


@triton.jit
def sum_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    total = tl.sum(tl.sum(x, axis=1), axis=0)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], x - total[:, None])


def test_a_reduced_value(device):
    x = random((8, 16), "i32", seed=5)
    out = device.output((8, 16), "i32")
    sum_kernel[(1,)](out.array, device.to(x), 8, 16)
    np.testing.assert_array_equal(out.numpy(), x - x.sum())


@triton.jit
def pointer_kernel(out_ptr, x_ptr, N: tl.constexpr):
    place = tl.arange(0, N)
    x = tl.load(x_ptr[None, :] + place)
    tl.store(out_ptr[None] + place, x)
    tl.store(out_ptr[:, None, None] + N, tl.max(x, axis=0)[None, None])


def test_pointers(device):
    """A pointer indexed with `None` is a tile of one pointer."""
    x = random(32, "fp32", seed=6)
    out = device.output(33, "fp32")
    pointer_kernel[(1,)](out.array, device.to(x), 32)
    np.testing.assert_array_equal(out.numpy(), np.append(x, x.max()))


def test_other_indices_are_refused():
    @triton.jit
    def kernel(p):
        tl.store(p, tl.load(p)[1:2, None])

    with pytest.raises(triton.CompilationError, match="unsupported tensor index"):
        kernel[(1,)](np.zeros(1, np.float32))
