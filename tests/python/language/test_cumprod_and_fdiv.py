"""Running products of a type, and the forms of `fdiv`."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

N = 256


def ints(count, seed, low, high):
    return np.random.default_rng(seed).integers(low, high, count).astype(np.int32)


@triton.jit
def products_kernel(out, x, R: tl.constexpr, C: tl.constexpr, T: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    value = tl.load(x + at)
    tl.store(out + at, tl.cumprod(value, 1, dtype=T))
    tl.store(out + R * C + at, tl.cumsum(value, axis=0, reverse=True, dtype=T))
    tl.store(out + 2 * R * C + at, value.cumprod(1, True, T))


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_running_products_of_a_type(device, dtype):
    R, C = 4, 8
    x = ints(R * C, 36, -12, 13).reshape(R, C).astype(np.int8)
    out = device.output((3, R, C), dtype)
    products_kernel[(1,)](
        out.array, device.to(x), R, C, getattr(tl, {"i32": "int32", "i64": "int64"}[dtype])
    )
    wide = x.astype(np.int32 if dtype == "i32" else np.int64)
    expected = [
        np.cumprod(wide, 1, dtype=wide.dtype),
        np.cumsum(wide[::-1], 0)[::-1],
        np.cumprod(wide[:, ::-1], 1, dtype=wide.dtype)[:, ::-1],
    ]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def short_products_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    running = tl.cumprod(tl.load(x + i))
    tl.static_assert(running.dtype == tl.int8)
    tl.store(out + i, running)


def test_running_products_keep_their_type(device):
    x, out = ints(32, 37, -9, 10).astype(np.int8), device.output(32, "i8")
    short_products_kernel[(1,)](out.array, device.to(x), 32)
    np.testing.assert_array_equal(out.numpy(), np.cumprod(x, dtype=np.int8))


@triton.jit
def quotients_kernel(out, x, y, N: tl.constexpr, PRECISE: tl.constexpr, APPROX: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.fdiv(tl.load(x + i), tl.load(y + i), PRECISE, approx=APPROX))


@pytest.mark.parametrize("precise, approximate", [(False, False), (True, False), (False, True)])
def test_quotients(device, precise, approximate):
    """`fdiv` is rounded to nearest, or approximate, as the option says."""
    x, y, out = random((N,), "fp32", 38), random((N,), "fp32", 39), device.output(N, "fp32")
    quotients_kernel[(1,)](out.array, device.to(x), device.to(y), N, precise, approximate)
    exact = x.astype(np.float64) / y
    np.testing.assert_allclose(out.numpy(), exact, rtol=6e-8 if precise else 3e-7)


def test_quotients_that_are_refused():
    x, half = np.ones(N, np.float32), np.ones(N, np.float16)
    with pytest.raises(triton.CompilationError, match="approx and ieee_rounding cannot both be"):
        quotients_kernel[(1,)](x, x, x, N, True, True)
    with pytest.raises(triton.CompilationError, match="approx division requires float32 operands"):
        quotients_kernel[(1,)](x, half, half, N, False, True)
