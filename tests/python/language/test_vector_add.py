"""The smallest kernel: sizes around the block, dtypes, grids."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def run(device, size, dtype, block=256):
    x, y = random(size, dtype, seed=1), random(size, dtype, seed=2)
    out = device.output(size, dtype)
    add_kernel[(triton.cdiv(size, block),)](
        device.to(x), device.to(y), out.array, size, BLOCK=block
    )
    return x, y, out.numpy()


@pytest.mark.parametrize("size", [1, 2, 127, 256, 257, 1000, 4096, 98432])
def test_sizes(device, size):
    """Every element is added at sizes around the block."""
    x, y, result = run(device, size, "fp32")
    np.testing.assert_array_equal(result, x + y)


@pytest.mark.parametrize(
    "dtype", ["fp16", "bf16", "fp64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
)
def test_dtypes(device, dtype):
    """Every type is added as by NumPy."""
    x, y, result = run(device, 777, dtype)
    np.testing.assert_array_equal(result, x + y)


@pytest.mark.parametrize("block", [1, 2, 32, 1024, 4096])
def test_blocks(device, block):
    """The size of the block does not change the sum."""
    x, y, result = run(device, 5000 if block > 2 else 50, "fp32", block)
    np.testing.assert_array_equal(result, x + y)


@triton.jit
def index_kernel(out_ptr, X, Y):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    size = tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)
    tl.store(out_ptr + (z * Y + y) * X + x, (z * 100 + y * 10 + x) * 1000 + size)


def test_grid_of_three_dimensions(device):
    out = device.output((4, 3, 5), "i32")
    index_kernel[5, 3, 4](out.array, 5, 3)
    z, y, x = np.indices((4, 3, 5))
    np.testing.assert_array_equal(out.numpy(), (z * 100 + y * 10 + x) * 1000 + 60)


def test_grid_of_zero_launches_nothing(device):
    out = device.output(4, "fp32")
    x = device.to(np.ones(4, np.float32))
    add_kernel[(0,)](x, x, out.array, 4, BLOCK=4)
    assert np.isnan(out.numpy()).all()
