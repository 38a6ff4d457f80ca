"""Loops of loads whose length is known and short: they are unrolled."""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from conftest import random

BLOCK = 256


@pantile.jit
def sums_kernel(x_ptr, y_ptr, n, LOW: tl.constexpr, HIGH: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(LOW, HIGH, STEP):
        at = (i - LOW) * BLOCK + tl.arange(0, BLOCK)
        total = total * 2 + tl.load(x_ptr + at, mask=at < n, other=1.0)
    tl.store(y_ptr + tl.arange(0, BLOCK), total)


@pytest.mark.parametrize("low, high, step", [(0, 2, 1), (0, 8, 1), (-3, 5, 2), (4, 11, 3), (5, 5, 1), (2**31 - 4, 2**31 - 1, 1), (-(2**63), -(2**63) + 3, 1)])  # fmt: skip
@pytest.mark.parametrize("missing", [0, 77])
def test_sums_over_ranges_at_the_ends_of_integers(device, low, high, step, missing):
    x = random((8 * BLOCK,), "fp32")
    n = x.size - missing
    y = device.output((BLOCK,), "fp32")
    sums_kernel[(1,)](device.to(x[:n]), y.array, n, LOW=low, HIGH=high, STEP=step, BLOCK=BLOCK)
    filled = np.concatenate([x[:n].astype(np.float64), np.ones(x.size)])
    want = np.zeros(BLOCK)
    for i in range(low, high, step):
        want = want * 2 + filled[(i - low) * BLOCK :][:BLOCK]
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5, atol=1e-4)


@pantile.jit
def shifting_kernel(x_ptr, same_ptr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for i in range(COUNT):
        x = tl.load(x_ptr + i * BLOCK + (at ^ 33))
        tl.debug_barrier()
        tl.store(same_ptr + (i + 1) * BLOCK + at, x + i)
        tl.debug_barrier()


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("count", [2, 5, 8])
def test_each_iteration_reads_what_the_last_one_wrote(device, count, warps):
    x = random(((count + 1) * BLOCK,), "fp32")
    memory = device.to(x.copy())
    shifting_kernel[(1,)](memory, memory, COUNT=count, BLOCK=BLOCK, num_warps=warps)
    want = x.copy().reshape(count + 1, BLOCK)
    for i in range(count):
        want[i + 1] = want[i, np.arange(BLOCK) ^ 33] + np.float32(i)
    np.testing.assert_array_equal(device.numpy(memory), want.ravel())
