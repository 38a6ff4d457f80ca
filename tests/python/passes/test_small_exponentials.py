"""Exponentials below 2^-126: kept where they are stored, of no matter among the weights of a softmax."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def exponentials(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(Y + at, tl.exp(tl.load(X + at)))


@triton.jit
def log_sum(X, Y, Weights, blocks, N: tl.constexpr):
    """The running form of log-sum-exp, and the last tile's weights in fp16."""
    at = tl.arange(0, N)
    top = -float("inf")
    total = 0.0
    for i in range(blocks):
        x = tl.load(X + i * N + at)
        new = tl.maximum(top, tl.max(x, 0))
        weights = tl.exp(x - new)
        total = total * tl.exp(top - new) + tl.sum(weights, 0)
        tl.store(Weights + i * N + at, weights.to(tl.float16))
        top = new
    tl.store(Y, top + tl.log(total))


@triton.jit
def logistic(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(Y + at, tl.sigmoid(tl.load(X + at)))


def test_stored(device):
    """Exponentials that are stored keep their subnormal values."""
    x = np.linspace(-102, -80, 256, dtype=np.float32)
    y = device.output(256, "fp32")
    exponentials[(1,)](device.to(x), y.array, 256)
    np.testing.assert_allclose(y.numpy(), np.exp(x.astype(np.float64)), rtol=2e-5, atol=2e-45)


@pytest.mark.parametrize("spread", [1, 30, 200])
@pytest.mark.parametrize("shift", [-500.0, 0.0, 3000.0])
def test_log_sum(device, spread, shift):
    """A running maximum and its rescaled sum are right for any spread and shift."""
    blocks, size = 5, 512
    x = random((blocks, size), "fp32", 1) * np.float32(spread) + np.float32(shift)
    y, weights = device.output(1, "fp32"), device.output(x.shape, "fp16")
    log_sum[(1,)](device.to(x), y.array, weights.array, blocks, size)
    wide = x.astype(np.float64)
    expected = wide.max() + np.log(np.exp(wide - wide.max()).sum())
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6, atol=1e-6)
    tops = np.maximum.accumulate(wide.max(1))[:, None]
    np.testing.assert_allclose(weights.numpy(), np.exp(wide - tops), rtol=2e-3, atol=6e-8)


def test_logistic(device):
    """The logistic function is right at both ends."""
    x = np.linspace(-86, 100, 1024, dtype=np.float32)
    y = device.output(1024, "fp32")
    logistic[(1,)](device.to(x), y.array, 1024)
    np.testing.assert_allclose(y.numpy(), 1 / (1 + np.exp(-x.astype(np.float64))), rtol=2e-5)
