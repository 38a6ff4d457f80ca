"""Rolling tiles of any extent along both axes, by constants and by numbers of the launch, as NumPy does."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def roll_kernel(out_ptr, x_ptr, by, M: tl.constexpr, N: tl.constexpr, SHIFT: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.roll(tl.roll(x, SHIFT, 1), by, 0))


@pytest.mark.parametrize("shifts", [(3, -7), (-50, 200), (0, 5)])
@pytest.mark.parametrize("shape", [(48, 96), (3, 7), (16, 12)])
def test_roll(device, shape, shifts):
    """Rolling along both axes is NumPy's."""
    x = random(shape, "fp32", seed=33)
    out = device.output(shape, "fp32")
    roll_kernel[(1,)](out.array, device.to(x), shifts[0], *shape, shifts[1])
    np.testing.assert_array_equal(out.numpy(), np.roll(np.roll(x, shifts[1], 1), shifts[0], 0))


@triton.jit
def several_kernel(out_ptr, x_ptr, by, M: tl.constexpr, N: tl.constexpr, SHIFT: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.roll(x, (by, SHIFT), (0, -1)))
    tl.store(out_ptr + M * N + at, tl.roll(x, by, axis=(1, 0)))
    tl.store(out_ptr + 2 * M * N + at, tl.flip(x, (0, 1)))
    tl.store(out_ptr + 3 * M * N + at, tl.stack(tuple(x), axis=0))


@pytest.mark.parametrize("shifts", [(3, -7), (-50, 200)])
@pytest.mark.parametrize("shape", [(16, 32), (3, 7)], ids=str)
def test_several_dimensions(device, shape, shifts):
    """`roll` and `flip` take tuples of dimensions as NumPy does; a tile is a tuple of its rows."""
    x = random(shape, "fp32", seed=34)
    out = device.output((4, *shape), "fp32")
    several_kernel[(1,)](out.array, device.to(x), shifts[0], *shape, shifts[1])
    expected = [np.roll(x, shifts, (0, -1)), np.roll(x, shifts[0], (1, 0)), np.flip(x, (0, 1)), x]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected))


@triton.jit
def added_kernel(out_ptr, x_ptr, by, M: tl.constexpr, N: tl.constexpr, SHIFT: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.roll(x, (by, SHIFT)))
    tl.store(out_ptr + M * N + at, tl.roll(x, (SHIFT, by, 2), 1))


@pytest.mark.parametrize("shape", [(16, 32), (3, 7)], ids=str)
def test_distances_along_one_dimension_are_added(device, shape):
    x = random(shape, "fp32", seed=35)
    out = device.output((2, *shape), "fp32")
    added_kernel[(1,)](out.array, device.to(x), 5, *shape, -9)
    expected = [np.roll(x, (5, -9)), np.roll(x, (-9, 5, 2), 1)]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected))


def test_distances_and_dimensions_of_several_numbers(device):
    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr + tl.arange(0, 8), tl.roll(tl.arange(0, 8), (1, 2), (0,)))

    with pytest.raises(triton.compiler.errors.CompilationError, match="as many distances"):
        kernel[(1,)](device.output(8, "i32").array)
