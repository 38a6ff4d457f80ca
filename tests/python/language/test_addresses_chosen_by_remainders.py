"""Addresses that are in bounds whatever the sign of a remainder: conditions, squares and sums of it choose them."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

N, GROUP = 64, 16


@triton.jit
def chosen_kernel(
    x_ptr, out_ptr, start, N: tl.constexpr, GROUP: tl.constexpr, WAY: tl.constexpr, TO: tl.constexpr
):  # fmt: skip
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
    elif WAY == 4:
        index = tl.where(rest < 0, at, at + 256)
    elif WAY == 5:
        index = at + (rest // GROUP == 0).to(tl.int32) * 512
    elif WAY == 6:
        index = at + (rest // GROUP) * (rest // GROUP) * 512
    else:
        index = at % (32 + 32 * (rest // GROUP) * (rest // GROUP))
    if TO:
        tl.store(out_ptr + index, tl.load(x_ptr + at))
    else:
        tl.store(out_ptr + at, tl.load(x_ptr + index))


def index_of(way, start):
    at = np.arange(512)
    rest = np.fmod(at - start * GROUP, N)
    quotient = np.trunc(rest / GROUP).astype(int)
    return [
        np.where(quotient == 0, 5, 7), at // GROUP + (quotient > -1) * 100, quotient**2,
        quotient + N // GROUP, np.where(rest < 0, at, at + 256), at + (quotient == 0) * 512,
        at + quotient**2 * 512, at % (32 + 32 * quotient**2),
    ][way]  # fmt: skip


@pytest.mark.parametrize("start", [0, 3, 4, 8, 64])
@pytest.mark.parametrize("way", range(8))
def test_elements_are_chosen(device, way, start):
    x = np.random.default_rng(0).standard_normal(5632).astype(np.float32)
    out = device.output(512, "fp32")
    chosen_kernel[(1,)](
        device.to(x), out.array, start, N=N, GROUP=GROUP, WAY=way, TO=False, num_warps=1
    )
    np.testing.assert_array_equal(out.numpy(), x[index_of(way, start)])


@pytest.mark.parametrize("start", [3, 64])
@pytest.mark.parametrize("way", [5, 6])
def test_places_are_chosen(device, way, start):
    x = np.random.default_rng(1).standard_normal(512).astype(np.float32)
    out = device.to(np.zeros(5632, np.float32))
    chosen_kernel[(1,)](device.to(x), out, start, N=N, GROUP=GROUP, WAY=way, TO=True, num_warps=1)
    expected = np.zeros(5632, np.float32)
    expected[index_of(way, start)] = x
    np.testing.assert_array_equal(device.numpy(out), expected)
