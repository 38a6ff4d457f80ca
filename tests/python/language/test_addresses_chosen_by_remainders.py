"""Addresses that are in bounds whatever the sign of a remainder: conditions, squares and sums of it choose them."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

N, GROUP = 64, 16


@triton.jit
def chosen_kernel(x_ptr, out_ptr, start, N: tl.constexpr, GROUP: tl.constexpr, WAY: tl.constexpr):
    at = tl.arange(0, 512)
    rest = (at - start * GROUP) % N
    if WAY == 0:
        index = tl.where(rest // GROUP == 0, 5, 7)
    elif WAY == 1:
        index = at // GROUP + (rest // GROUP > -1).to(tl.int32) * 100
    elif WAY == 2:
        index = (rest // GROUP) * (rest // GROUP)
    elif WAY == 3:
        index = rest // GROUP + N // GROUP
    else:
        index = tl.where(rest < 0, at, at + 256)
    tl.store(out_ptr + at, tl.load(x_ptr + index))


@pytest.mark.parametrize("start", [0, 3, 4, 8])
@pytest.mark.parametrize("way", range(5))
def test_elements_are_chosen(device, way, start):
    x = np.random.default_rng(0).standard_normal(1024).astype(np.float32)
    at = np.arange(512)
    rest = np.fmod(at - start * GROUP, N)
    quotient = np.trunc(rest / GROUP).astype(int)
    index = [
        np.where(quotient == 0, 5, 7), at // GROUP + (quotient > -1) * 100, quotient**2,
        quotient + N // GROUP, np.where(rest < 0, at, at + 256),
    ][way]  # fmt: skip
    out = device.output(512, "fp32")
    chosen_kernel[(1,)](device.to(x), out.array, start, N=N, GROUP=GROUP, WAY=way, num_warps=1)
    np.testing.assert_array_equal(out.numpy(), x[index])
