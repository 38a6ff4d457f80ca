"""Sums of rounded tiles beside dots, which tensor cores take: whole numbers, so that sums are exact."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def sums(x_ptr, y_ptr, sum_ptr, acc_ptr, n, limit, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, AXIS: tl.constexpr):  # fmt: skip
    """Sums of products along an axis, those above `limit` as infinities; the product is the next dot's operand."""
    rows, cols, deep = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(x_ptr + rows[:, None] * K + deep[None, :])
    total = tl.zeros((M if AXIS == 1 else N,), tl.float32)
    acc = tl.zeros((M, K), tl.float32)
    for i in range(0, n):
        y = tl.load(y_ptr + i * K * N + deep[:, None] * N + cols[None, :])
        product = tl.dot(x, y)
        rounded = tl.where(product > limit, float("inf"), product).to(x.dtype)
        total += tl.sum(rounded.to(tl.float32), AXIS)
        acc = tl.dot(product.to(x.dtype), tl.trans(y), acc)
    tl.store(sum_ptr + (rows if AXIS == 1 else cols), total)
    tl.store(acc_ptr + rows[:, None] * K + deep[None, :], acc)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("limit", [8, 1000])
@pytest.mark.parametrize(
    "M,N,K,warps",
    [(16, 16, 16, 1), (16, 32, 32, 4), (32, 128, 16, 2), (64, 64, 64, 4), (128, 128, 64, 8), (128, 32, 32, 4)],
)  # fmt: skip
def test_sums_of_products(device, M, N, K, warps, limit, dtype, axis):
    n = 3
    x, y = random((M, K), "i32", 1, -1, 2), random((n, K, N), "i32", 2, -1, 2)
    total = device.output((M if axis else N,), "fp32")
    acc = device.output((M, K), "fp32")
    sums[(1,)](
        device.to(x.astype(DTYPES[dtype])), device.to(y.astype(DTYPES[dtype])), total.array, acc.array, n,
        float(limit), M=M, N=N, K=K, AXIS=axis, num_warps=warps,
    )  # fmt: skip
    product = x @ y
    cut = np.where(product > limit, np.inf, product)
    np.testing.assert_array_equal(total.numpy(), cut.sum(axis=(0, 1 + axis)))
    np.testing.assert_array_equal(acc.numpy(), sum(p @ t.T for p, t in zip(product, y)))
