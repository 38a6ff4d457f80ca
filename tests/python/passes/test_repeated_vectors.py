"""Vectors that a larger tile repeats along its rows or columns."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def affine_kernel(
    out_ptr, x_ptr, bias_ptr, var_ptr, index_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr
):
    m, n = tl.arange(0, M), tl.arange(0, N)
    inside = (m[:, None] < rows) & (n[None, :] < cols)
    bias = tl.load(bias_ptr + n, mask=n < cols, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.load(var_ptr + m[:, None], mask=m[:, None] < rows, other=1.0) + 1.0)
    row = tl.load(index_ptr + m, mask=m < rows, other=0)
    x = tl.load(x_ptr + row[:, None] * cols + n[None, :], mask=inside)
    y = (x.to(tl.float32) + bias[None, :]) * scale
    tl.store(out_ptr + m[:, None] * cols + n[None, :], y, mask=inside)


@pytest.mark.parametrize("num_warps", [1, 2, 8])
@pytest.mark.parametrize("shape", [(16, 256), (13, 100), (64, 3), (2, 1000), (128, 16)])
def test_bias_scale_and_index(device, shape, num_warps):
    rows, cols = shape
    x, bias = random(shape, "fp16", 1), random((cols,), "fp16", 2)
    variance = np.abs(random((rows,), "fp32", 3))
    index = random((rows,), "i32", 4, 0, rows)
    out = device.to(np.full(shape, np.nan, dtype=np.float32))
    affine_kernel[(1,)](
        out,
        *(device.to(array) for array in (x, bias, variance, index)),
        rows,
        cols,
        M=triton.next_power_of_2(rows),
        N=triton.next_power_of_2(cols),
        num_warps=num_warps,
    )
    expected = (x[index].astype(np.float64) + bias) / np.sqrt(variance.astype(np.float64) + 1)[
        :, None
    ]
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-6)


@triton.jit
def two_tiles_kernel(
    x_ptr, y_ptr, bias_ptr, rows, cols, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr
):
    """Adds minus one vector to tiles of two shapes; the first tile may hold the vector itself."""
    n = tl.arange(0, N)
    bias = -tl.load(bias_ptr + n, mask=n < cols, other=0.0).to(tl.float32)
    at_x = tl.arange(0, M)[:, None] * cols + n[None, :]
    in_x = (tl.arange(0, M)[:, None] < rows) & (n[None, :] < cols)
    x = tl.load(x_ptr + at_x, mask=in_x, other=0.0)
    tl.debug_barrier()  # the vector may be a row of the tile
    tl.store(x_ptr + at_x, x + bias[None, :], mask=in_x)
    at_y = tl.arange(0, K)[:, None] * cols + n[None, :]
    in_y = n[None, :] < cols
    y = tl.load(y_ptr + at_y, mask=in_y, other=0.0)
    tl.store(y_ptr + at_y, y + bias[None, :], mask=in_y)


@pytest.mark.parametrize("aliases", [False, True])
@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("cols", [64, 100, 7])
def test_one_vector_of_two_tiles(device, cols, num_warps, aliases):
    """It is loaded once per layout, before the first tile overwrites it."""
    rows, few = 29, 4
    x, y = random((rows, cols), "fp16", 1), random((few, cols), "fp16", 2)
    d_x, d_y = device.to(x.copy()), device.to(y.copy())
    bias = x[3] if aliases else random((cols,), "fp16", 3)
    d_bias = d_x[3] if aliases else device.to(bias)
    two_tiles_kernel[(1,)](
        d_x, d_y, d_bias, rows, cols, M=32, K=few, N=triton.next_power_of_2(cols),
        num_warps=num_warps,
    )  # fmt: skip
    for result, tile in ((d_x, x), (d_y, y)):
        exact = (tile.astype(np.float32) - bias.astype(np.float32)).astype(np.float16)
        np.testing.assert_array_equal(device.numpy(result), exact)
