"""The input precisions of fp32 dots, against dots of operands rounded as the precision says."""

import numpy as np
import pytest
from conftest import random
from test_dot_types import run

# Bits that each precision keeps of a product, next to the size of its terms.
PRECISIONS = {"ieee": 20, "tf32x3": 19, "bf16x6": 19, "bf16x3": 14, "tf32": 9}


def errors(result, a, b):
    """The largest error of a product, in units of the sum of its terms' sizes."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (np.abs(result - a @ b) / (np.abs(a) @ np.abs(b))).max()


@pytest.mark.parametrize("shape", [(64, 64, 64), (16, 32, 128), (128, 64, 32)], ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_precision(device, precision, shape):
    """Each input precision keeps the bits that it promises."""
    M, N, K = shape
    a, b = random((M, K), "fp32", 1), random((K, N), "fp32", 2)
    result = run(device, a, b, "fp32", precision=precision)
    assert errors(result, a, b) <= 2.0 ** -PRECISIONS[precision]


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_accumulator(device, precision):
    """An accumulator adds no error beyond that of the input precision."""
    a, b = random((64, 32), "fp32", 3), random((32, 64), "fp32", 4)
    acc = random((64, 64), "fp32", 5) * 100
    result = run(device, a, b, "fp32", acc, precision=precision)
    exact = a.astype(np.float64) @ b.astype(np.float64) + acc
    assert np.abs(result - exact).max() <= 2.0 ** -PRECISIONS[precision] * 130


@pytest.mark.parametrize("precision", PRECISIONS)
def test_infinities_and_nan(device, precision):
    """Every precision of fp32 gives infinities and NaN where float64 does."""
    a, b = random((16, 32), "fp32", 6), random((32, 16), "fp32", 7)
    a[3, 5], a[4, 6], b[7, 2] = np.inf, -np.inf, np.nan
    result = run(device, a, b, "fp32", precision=precision)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    np.testing.assert_array_equal(np.isposinf(result), np.isposinf(exact))
    np.testing.assert_array_equal(np.isneginf(result), np.isneginf(exact))


def test_tf32_rounds_its_operands(device):
    a, b = random((64, 64), "fp32", 8), random((64, 64), "fp32", 9)
    assert errors(run(device, a, b, "fp32"), a, b) > 2.0**-16
    assert errors(run(device, a, b, "fp32", precision="ieee"), a, b) < 2.0**-20


def test_tf32_rounds_to_nearest(device):
    """Cut off, positive operands would make every product too small, by 2^-11 of it for each operand."""
    a, b = (
        1 + np.abs(random(shape, "fp32", seed)) % 1
        for shape, seed in [((16, 256), 10), ((256, 16), 11)]
    )
    result, exact = run(device, a, b, "fp32"), a.astype(np.float64) @ b
    assert abs((result / exact - 1).mean()) < 2.0**-13
