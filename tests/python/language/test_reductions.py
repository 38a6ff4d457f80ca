"""Reductions and scans against NumPy, over axes, dtypes and shapes."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def reduce_kernel(
    out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr
):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    if OP == "sum":
        y = tl.sum(x, axis=AXIS)
    elif OP == "max":
        y = tl.max(x, axis=AXIS)
    elif OP == "min":
        y = tl.min(x, axis=AXIS)
    elif OP == "argmax":
        y = tl.argmax(x, axis=AXIS)
    elif OP == "argmin":
        y = tl.argmin(x, axis=AXIS)
    elif OP == "xor":
        y = tl.xor_sum(x, axis=AXIS)
    if AXIS is None:
        tl.store(out_ptr, y)
    elif AXIS == 0:
        tl.store(out_ptr + tl.arange(0, N), y)
    else:
        tl.store(out_ptr + tl.arange(0, M), y)


NUMPY = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "xor": lambda x, axis: np.bitwise_xor.reduce(x, axis=axis),
}


def reduced(device, x, axis, op, out_dtype):
    M, N = x.shape
    size = 1 if axis is None else (N, M)[axis]
    out = device.output(size, out_dtype)
    reduce_kernel[(1,)](out.array, device.to(x), M, N, axis, op)
    return out.numpy()


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize("shape", [(4, 8), (16, 128), (64, 2), (1, 32)], ids=str)
def test_float(device, shape, op, axis):
    """Reductions of floats along each axis agree with float64."""
    x = random(shape, "fp32", seed=1)
    expected = np.atleast_1d(NUMPY[op](x.astype(np.float64), axis=axis))
    np.testing.assert_allclose(reduced(device, x, axis, op, "fp32"), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("op", ["sum", "max", "min", "xor"])
@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u32"])
def test_int(device, dtype, op):
    """Reductions of integers are exact, in the promoted type."""
    x = random((8, 32), dtype, seed=2)
    out_dtype = {"i8": "i32", "i16": "i32", "u8": "u32"}.get(dtype, dtype)
    expected = NUMPY[op](x.astype(DTYPES[out_dtype]), axis=1)
    np.testing.assert_array_equal(reduced(device, x, 1, op, out_dtype), expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_arg(device, op, axis):
    """The place of the largest and the smallest element is NumPy's."""
    x = random((16, 64), "fp32", seed=3)
    np.testing.assert_array_equal(reduced(device, x, axis, op, "i32"), NUMPY[op](x, axis=axis))


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_arg_takes_the_first_of_equals(device, op):
    x = random((16, 64), "i32", seed=4, low=0, high=4)
    np.testing.assert_array_equal(reduced(device, x, 1, op, "i32"), NUMPY[op](x, axis=1))


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_max_of_narrow_floats(device, dtype):
    x = random((8, 64), dtype, seed=5)
    np.testing.assert_array_equal(reduced(device, x, 1, "max", dtype), x.max(axis=1))


@triton.jit
def scan_kernel(
    out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr
):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    if OP == "cumsum":
        y = tl.cumsum(x, axis=AXIS)
    elif OP == "reverse":
        y = tl.cumsum(x, axis=AXIS, reverse=True)
    elif OP == "cumprod":
        y = tl.cumprod(x, axis=AXIS)
    else:
        y = tl.associative_scan(x, AXIS, larger)
    tl.store(out_ptr + offsets, y)


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


SCANS = {
    "cumsum": np.cumsum,
    "reverse": lambda x, axis: np.flip(np.cumsum(np.flip(x, axis), axis), axis),
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", list(SCANS))
def test_scan(device, op, axis):
    """Running sums, products and maxima agree with NumPy."""
    x = random((8, 64), "fp32", seed=6)
    out = device.output(x.shape, "fp32")
    scan_kernel[(1,)](out.array, device.to(x), 8, 64, axis, op)
    np.testing.assert_allclose(
        out.numpy(), SCANS[op](x.astype(np.float64), axis), rtol=1e-4, atol=1e-4
    )


@triton.jit
def welford_kernel(mean_ptr, m2_ptr, x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    mean, m2, count = tl.reduce(
        (x, tl.zeros((N,), tl.float32), tl.full((N,), 1.0, tl.float32)), 0, combine_welford
    )
    tl.store(mean_ptr, mean)
    tl.store(m2_ptr, m2)


@triton.jit
def combine_welford(mean1, m1, count1, mean2, m2, count2):
    delta = mean2 - mean1
    count = count1 + count2
    return mean1 + delta * count2 / count, m1 + m2 + delta * delta * count1 * count2 / count, count


def test_reduce_of_a_tuple(device):
    x = random(256, "fp32", seed=7)
    mean, m2 = device.output(1, "fp32"), device.output(1, "fp32")
    welford_kernel[(1,)](mean.array, m2.array, device.to(x), 256)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean.numpy()[0], wide.mean(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(m2.numpy()[0], ((wide - wide.mean()) ** 2).sum(), rtol=1e-4)
