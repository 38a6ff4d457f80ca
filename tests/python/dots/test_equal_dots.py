"""Dots with the same operands in one iteration: a product that is read, and one that is added up.

Where the accumulator begins at zero, both are one operation in an iteration that stands before the
loop; waits that have been counted must not lose one of them.
"""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from conftest import random

SIZE = 64


@pantile.jit
def kernel(a_ptr, x_ptr, sums_ptr, chained_ptr, count, TWICE: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    x = tl.load(x_ptr + at)
    sums = tl.zeros((S, S), tl.float32)
    chained = tl.zeros((S, S), tl.float32)
    for i in range(0, count):
        a = tl.load(a_ptr + i * S * S + at)
        y = tl.load(x_ptr + i * S * S + at)
        first = tl.dot(a, x)
        second = tl.dot(a, y)
        chained = tl.dot((first + second).to(tl.float16), y, chained)
        sums = tl.dot(a, y, sums)
        if TWICE:
            sums += tl.dot(a, y)
    tl.store(sums_ptr + at, sums)
    tl.store(chained_ptr + at, chained)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_products_and_sums_of_the_same_operands(device, count, twice, warps, stages):
    a = np.round(random((max(count, 1), SIZE, SIZE), "fp16") * 4) / 8
    x = np.round(random((max(count, 1), SIZE, SIZE), "fp16") * 4) / 8
    a, x = a.astype(np.float16), x.astype(np.float16)
    sums, chained = device.output((SIZE, SIZE), "fp32"), device.output((SIZE, SIZE), "fp32")
    kernel[(1,)](
        device.to(a), device.to(x), sums.array, chained.array, count,
        TWICE=twice, S=SIZE, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    wide_a, wide_x = a[:count].astype(np.float64), x[:count].astype(np.float64)
    products = wide_a @ wide_x
    both = (wide_a @ x[0].astype(np.float64) + products).astype(np.float16).astype(np.float64)
    want = products.sum(0) * (2 if twice else 1)
    np.testing.assert_allclose(sums.numpy(), want, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(chained.numpy(), (both @ wide_x).sum(0), rtol=1e-3, atol=0.05)
