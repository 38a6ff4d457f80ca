"""Masks and addresses of integers that have few bits, and begin again within a tile."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def masked_kernel(
    x, out, N: tl.constexpr, DTYPE: tl.constexpr, SHIFT: tl.constexpr, B: tl.constexpr
):
    """One element for all lanes whose narrow number is below `N`, and the lanes' own elsewhere."""
    r = tl.arange(0, B)
    small = (r << SHIFT).to(DTYPE).to(tl.int32)
    one = tl.load(x + r * 0, mask=small < N, other=-1.0)
    own = tl.load(x + r, mask=small >= N, other=-2.0)
    tl.store(out + r, one)
    tl.store(out + B + r, own)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("n", [0, -64, 16, 128, 1024])
@pytest.mark.parametrize("dtype, shift", [("int8", 0), ("uint8", 0), ("int16", 7), ("int16", 0)])
def test_masks(device, dtype, shift, n, num_warps):
    """A mask of narrow integers that wrap is NumPy's."""
    size = 1024
    x, out = random(size, "fp32"), device.output((2, size), "fp32")
    masked_kernel[(1,)](
        device.to(x), out.array, N=n, DTYPE=getattr(tl, dtype), SHIFT=shift, B=size,
        num_warps=num_warps,
    )  # fmt: skip
    small = (np.arange(size) << shift).astype(dtype).astype(np.int32)
    np.testing.assert_array_equal(out.numpy()[0], np.where(small < n, x[0], np.float32(-1)))
    np.testing.assert_array_equal(out.numpy()[1], np.where(small >= n, x, np.float32(-2)))


@triton.jit
def gathered_kernel(x, out, first, DTYPE: tl.constexpr, B: tl.constexpr):
    r = tl.arange(0, B)
    at = (r + first).to(DTYPE).to(tl.int32)
    tl.store(out + r, tl.load(x + 128 + at))


@pytest.mark.parametrize("first", [0, 4, 124, 3, -16])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_addresses(device, dtype, first):
    """Addresses of narrow integers that wrap are NumPy's."""
    size = 512
    x, out = random(512, "fp16"), device.output((size,), "fp16")
    gathered_kernel[(1,)](device.to(x), out.array, first, DTYPE=getattr(tl, dtype), B=size)
    at = (np.arange(size) + first).astype(dtype).astype(np.int32)
    np.testing.assert_array_equal(out.numpy(), x[128 + at])
