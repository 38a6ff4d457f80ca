"""Named arithmetic, rounding variants and selection, over their types, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

N = 512


@triton.jit
def binary_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr, OP: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    if OP == "add":
        z = tl.add(x, y)
    elif OP == "sub":
        z = tl.sub(x, y, sanitize_overflow=False)
    elif OP == "mul":
        z = tl.mul(x, y)
    elif OP == "fdiv":
        z = tl.fdiv(x, y)
    elif OP == "div_rn":
        z = tl.div_rn(x, y)
    elif OP == "umulhi":
        z = tl.umulhi(x, y)
    elif OP == "broadcast":
        a, b = tl.broadcast(x[:, None], y[None, :])
        z = tl.sum(a * b, axis=1)
    tl.store(out_ptr + offsets, z)


def run_binary(device, x, y, op, dtype):
    out = device.output(x.size, dtype)
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), x.size, op)
    return out.numpy()


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_integers_wrap_around(device, op, dtype):
    limits = np.iinfo(DTYPES[dtype])
    rng = np.random.default_rng(11)
    x, y = (rng.integers(limits.min, limits.max, N, DTYPES[dtype], endpoint=True) for _ in "xy")
    compute = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
    np.testing.assert_array_equal(run_binary(device, x, y, op, dtype), compute(x, y))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_floats_round_once(device, op, dtype):
    x, y = random(N, dtype, seed=12), random(N, dtype, seed=13)
    compute = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
    np.testing.assert_array_equal(run_binary(device, x, y, op, dtype), compute(x, y))


@pytest.mark.parametrize("op, dtype", [("fdiv", "fp32"), ("fdiv", "fp64"), ("div_rn", "fp32")])
def test_quotient(device, op, dtype):
    """`div_rn` is rounded to nearest, `fdiv` within one unit."""
    x, y = random(N, dtype, seed=14), random(N, dtype, seed=15)
    expected = x / y
    got = run_binary(device, x, y, op, dtype)
    if op == "div_rn":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=3e-7 if dtype == "fp32" else 1e-15)


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u64"])
def test_upper_half_of_the_product(device, dtype):
    width = int(dtype[1:])
    limits = np.iinfo(DTYPES[dtype])
    rng = np.random.default_rng(16)
    x, y = (rng.integers(limits.min, limits.max, N, DTYPES[dtype], endpoint=True) for _ in "xy")
    mask = (1 << width) - 1
    product = ((x.astype(object) & mask) * (y.astype(object) & mask)) >> width
    expected = product.astype(f"u{width // 8}").view(DTYPES[dtype])
    np.testing.assert_array_equal(run_binary(device, x, y, "umulhi", dtype), expected)


@pytest.mark.parametrize("dtype", ["i32", "fp32"])
def test_broadcast_gives_both_operands_one_shape(device, dtype):
    x, y = random(64, dtype, seed=17), random(64, dtype, seed=18)
    expected = x.astype(np.float64) * y.astype(np.float64).sum()
    got = run_binary(device, x, y, "broadcast", dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@triton.jit
def ternary_kernel(out_ptr, x_ptr, y_ptr, z_ptr, N: tl.constexpr, OP: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    z = tl.load(z_ptr + offsets)
    if OP == "fma":
        r = tl.fma(x, y, z)
    elif OP == "clamp":
        r = tl.clamp(x, tl.minimum(y, z), tl.maximum(y, z))
    elif OP == "clamp_nan":
        r = tl.clamp(x, tl.minimum(y, z), tl.maximum(y, z), propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + offsets, r)


def run_ternary(device, arrays, op, dtype):
    out = device.output(N, dtype)
    ternary_kernel[(1,)](out.array, *(device.to(x) for x in arrays), N, op)
    return out.numpy()


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp64"])
def test_fma(device, dtype):
    """A fused multiplication and addition is rounded once."""
    x, y, z = (random(N, dtype, seed=s) for s in (21, 22, 23))
    wide = np.longdouble if dtype == "fp64" else np.float64
    expected = (x.astype(wide) * y.astype(wide) + z.astype(wide)).astype(DTYPES[dtype])
    got = run_ternary(device, (x, y, z), "fma", dtype)
    if dtype == "fp64":
        # The sum of the cut product in 64 bits may lie on the other side of a tie.
        np.testing.assert_allclose(got, expected, rtol=3e-16, atol=1e-17)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp64"])
def test_clamp(device, dtype):
    """Clamping keeps NaN or drops it, as the option says."""
    x, y, z = (random(N, dtype, seed=s) for s in (24, 25, 26))
    x[::7] = float("nan")
    low, high = np.minimum(y, z), np.maximum(y, z)
    kept = run_ternary(device, (x, y, z), "clamp_nan", dtype)
    np.testing.assert_array_equal(kept, np.clip(x, low, high))
    dropped = run_ternary(device, (x, y, z), "clamp", dtype)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(dropped[numbers], np.clip(x, low, high)[numbers])
    assert not np.isnan(dropped).any()


@triton.jit
def extremes_kernel(low_ptr, high_ptr, x_ptr, y_ptr, N: tl.constexpr, KEEP: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    if KEEP:
        low = tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
        high = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    else:
        low = tl.minimum(x, y, propagate_nan=tl.PropagateNan.NONE)
        high = tl.maximum(x, y, propagate_nan=tl.PropagateNan.NONE)
    tl.store(low_ptr + offsets, low)
    tl.store(high_ptr + offsets, high)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp64"])
def test_nan_in_minimum_and_maximum(device, dtype, keep):
    x, y = random(N, dtype, seed=27), random(N, dtype, seed=28)
    x[::5] = float("nan")
    y[::3] = float("nan")
    low, high = device.output(N, dtype), device.output(N, dtype)
    extremes_kernel[(1,)](low.array, high.array, device.to(x), device.to(y), N, keep)
    least, largest = (np.minimum, np.maximum) if keep else (np.fmin, np.fmax)
    np.testing.assert_array_equal(low.numpy(), least(x, y))
    np.testing.assert_array_equal(high.numpy(), largest(x, y))


@triton.jit
def sqrt_rn_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.sqrt_rn(tl.load(x_ptr + offsets)))


def test_sqrt_rn_is_rounded_to_nearest(device):
    x = np.abs(random(N, "fp32", seed=29)) * np.float32(1e3)
    out = device.output(N, "fp32")
    sqrt_rn_kernel[(1,)](out.array, device.to(x), N)
    np.testing.assert_array_equal(out.numpy(), np.sqrt(x))


@triton.jit
def softmax_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    offsets = rows[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.softmax(x, dim=1, keep_dims=True))


def test_softmax(device):
    """The softmax of rows is that of float64."""
    x = random((16, 128), "fp32", seed=30)
    out = device.output((16, 128), "fp32")
    softmax_kernel[(1,)](out.array, device.to(x), 16, 128)
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), wide / wide.sum(axis=1, keepdims=True), rtol=1e-5)
