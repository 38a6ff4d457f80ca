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
