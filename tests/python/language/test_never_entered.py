"""Loops and branches that constants show to be never entered."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


def integers(count, seed, high=100):
    return np.random.default_rng(seed).integers(0, high, count).astype(np.int32)


@triton.jit
def never_kernel(out_ptr, x_ptr, n, N: tl.constexpr, WAY: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.load(x_ptr + offsets)
    i = 0
    if WAY == "while":
        while i < 0:
            if i == n:
                break
            total += tl.load(x_ptr + i + offsets)
            i += 1
    elif WAY == "for":
        for i in range(0, 0, 32):
            if i >= 0:
                break
            total += tl.load(x_ptr + i + offsets)
    elif WAY == "at once":
        while i < n:
            if i >= 0:
                break
            tl.store(out_ptr + i, i)
            i += 1
    else:
        while i < n:
            i += 1
            if i > 0:
                total += i
                if i == 3:
                    break
            else:
                total -= tl.load(x_ptr + i + offsets)
    tl.store(out_ptr + offsets, total + i)


@pytest.mark.parametrize("way", ["while", "for", "at once", "once"])
def test_never_entered(device, way):
    """A loop whose first test fails at compile time, and what a `break` keeps from ever running."""
    x = integers(64, 7)
    out = device.output(16, "i32")
    never_kernel[(1,)](out.array, device.to(x), 5, 16, way)
    np.testing.assert_array_equal(out.numpy(), x[:16] + (1 + 2 + 3 + 3 if way == "once" else 0))
