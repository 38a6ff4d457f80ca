"""The language's own mathematics: how exact it is, which types it takes, and its older names.

Bounds are those of the GPU: the hardware's approximations for exp, exp2, sqrt, rsqrt and fp32 division.
"""

import mpmath as mp
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from device_arrays import DTYPES
from elementwise_kernels import run
from exact import exact, rounded, unit
from libdevice_reference import line, positive, scale

# Function, its exact form, domain, units in the last place for fp32 and fp64 (a function of x, or a number).
EXACT = {
    "exp": (tl.exp, mp.exp, line(-80, 80), lambda x: 2 + 1.2 * abs(float(x)), 1.5),
    "exp2": (tl.math.exp2, lambda x: mp.power(2, x), line(-120, 120), 2, 1.5),
    "log": (tl.log, mp.log, positive, 1, 1.5),
    "log2": (tl.math.log2, lambda x: mp.log(x, 2), positive, 2, 1.5),
    "log_near_1": (tl.math.log, mp.log, line(0.9, 1.1), 1, 1.5),
    "log2_near_1": (tl.log2, lambda x: mp.log(x, 2), line(0.9, 1.1), 2, 1.5),
    "sin": (tl.sin, mp.sin, line(-200, 200), 2.5, 2.5),
    "cos": (tl.math.cos, mp.cos, line(-200, 200), 2.5, 2.5),
    "sqrt": (tl.sqrt, mp.sqrt, positive, 2, 0.5),
    "rsqrt": (tl.math.rsqrt, lambda x: 1 / mp.sqrt(x), positive, 2.5, 2.5),
    "erf": (tl.erf, mp.erf, line(-4, 4), 2.5, 2.5),
    "floor": (tl.floor, mp.floor, line(-1e4, 1e4), 0, 0),
    "ceil": (tl.math.ceil, mp.ceil, line(-1e4, 1e4), 0, 0),
    "abs": (tl.abs, abs, scale(-20, 20), 0, 0),
    "sqrt_rn": (tl.sqrt_rn, mp.sqrt, positive, 0.5, 0.5),
    "sigmoid": (tl.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), line(-20, 20), 30, 4),
}


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("name", list(EXACT))
def test_accuracy(device, name, dtype):
    """Each function is within its bound of the exact value."""
    function, reference, draw, *bounds = EXACT[name]
    x = draw(np.random.default_rng(len(name)), 512, DTYPES[dtype])
    got = run(device, function, [x], dtype)
    bound = bounds[0 if dtype == "fp32" else 1]
    for value, result in zip(x, got):
        want = reference(exact(value))
        allowed = bound(value) if callable(bound) else bound
        error = abs(exact(result) - want)
        assert error <= 1.001 * allowed * unit(want, result.dtype), f"{name}({value}): {result}"


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize(
    "name", ["exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor"]
)
def test_special_values(device, name, dtype):
    """Functions of `tl` give what NumPy's do for NaN, infinities and signed zeros."""
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 200.0], DTYPES[dtype])
    reference = {"rsqrt": lambda v: 1 / np.sqrt(v), "erf": np.vectorize(lambda v: float(mp.erf(v)))}
    got = run(device, getattr(tl, name), [x], dtype)
    with np.errstate(all="ignore"):
        want = reference.get(name, getattr(np, name, None))(x.astype(np.float64)).astype(x.dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(got, want, rtol=5e-5)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "i32"])
@pytest.mark.parametrize("function", [tl.exp, tl.log2, tl.sqrt, tl.erf, tl.math.floor], ids=repr)
def test_narrow_floats_are_refused(device, function, dtype):
    x = random(32, dtype, seed=1)
    with pytest.raises(triton.CompilationError, match=r"Expected dtype \['fp32', 'fp64'\] but got"):
        run(device, function, [x], dtype)


def test_old_names(device):
    x = np.abs(random(256, "fp32", seed=2)) + np.float32(0.1)
    out = device.output((5, 256), "fp32")
    old_names[(1,)](out.array, device.to(x), 256)
    want = [np.tanh(x), x**1.5, np.round(x), np.maximum(x, 1), np.cbrt(x)]
    np.testing.assert_allclose(out.numpy(), np.stack(want), rtol=2e-6)


@triton.jit
def old_names(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.math.tanh(v))
    tl.store(out + N + i, tl.math.pow(v, 1.5))
    tl.store(out + 2 * N + i, tl.math.rint(v))
    tl.store(out + 3 * N + i, tl.math.max(v, 1.0))
    tl.store(out + 4 * N + i, tl.libdevice.cbrt(v))


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u64"])
def test_umulhi(device, dtype):
    """The upper half of a product is exact."""
    rng = np.random.default_rng(7)
    bits = int(dtype[1:])
    words = rng.integers(0, 2**32, (2, 2, 256), dtype=np.uint64)
    x, y = (words[0] << np.uint64(32) | words[1]).astype(f"uint{bits}")
    want = np.array([int(a) * int(b) >> bits for a, b in zip(x, y)], f"uint{bits}")
    kind = DTYPES[dtype]
    got = run(device, tl.umulhi, [x.view(kind), y.view(kind)], dtype)
    np.testing.assert_array_equal(got, want.view(kind))


@triton.jit
def ieee_division(x, y):
    return tl.fdiv(x, y, ieee_rounding=True)


@triton.jit
def quotient(x, y):
    return x / y


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize(
    "function, units",
    [(tl.div_rn, 0), (ieee_division, 0), (tl.fdiv, 2), (quotient, 2)],
    ids=["div_rn", "fdiv_ieee", "fdiv", "/"],
)
def test_division(device, function, units, dtype):
    """Each division is within its bound of the exact quotient."""
    x, y = random(512, dtype, seed=8), random(512, dtype, seed=9)
    got = run(device, function, [x, y], dtype)
    for a, b, result in zip(x, y, got):
        want = exact(a) / exact(b)
        if units == 0:
            assert result == rounded(want, DTYPES[dtype])
        else:
            assert abs(exact(result) - want) <= (units + 0.5) * unit(want, result.dtype)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp64"])
def test_fma(device, dtype):
    """`tl.fma` is rounded once."""
    x, y, z = (random(256, dtype, seed=seed) for seed in (10, 11, 12))
    got = run(device, tl.fma, [x, y, z], dtype)
    if dtype == "fp16":
        want = (x.astype(np.float64) * y + z).astype(np.float16)
    else:
        want = [rounded(exact(a) * exact(b) + exact(c), DTYPES[dtype]) for a, b, c in zip(x, y, z)]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "dtype", ["i8", "i16", "i32", "i64", "u8", "u32", "fp16", "bf16", "fp8e5", "fp8e4nv"]
)
def test_abs(device, dtype):
    """`tl.abs` is exact in every type."""
    x = random(256, dtype, seed=13)
    got = run(device, tl.abs, [x], dtype)
    np.testing.assert_array_equal(got.astype(np.float64), np.abs(x.astype(np.float64)))


@triton.jit
def ceiling_division(x, y):
    return tl.cdiv(x, y)


def test_cdiv(device):
    """`tl.cdiv` rounds up."""
    x, y = (
        random(256, "i32", seed=14, low=0, high=1000),
        random(256, "i32", seed=15, low=1, high=40),
    )
    np.testing.assert_array_equal(run(device, ceiling_division, [x, y], "i32"), -(-x // y))


@triton.jit
def smaller_with_nan(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def larger_with_nan(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def clamp_with_nan(x, low, high):
    return tl.clamp(x, low, high, propagate_nan=tl.PropagateNan.ALL)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_minimum_and_maximum(device, dtype):
    x, y = random(256, dtype, seed=16), random(256, dtype, seed=17)
    x[:3], y[1:5] = np.nan, np.nan
    wide = (x.astype(np.float64), y.astype(np.float64))
    for function, reference in [
        (tl.minimum, np.fmin),
        (tl.maximum, np.fmax),
        (smaller_with_nan, np.minimum),
        (larger_with_nan, np.maximum),
    ]:
        got = run(device, function, [x, y], dtype)
        np.testing.assert_array_equal(got.astype(np.float64), reference(*wide))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_clamp(device, dtype):
    """`tl.clamp` handles NaN as the option says."""
    x = random(256, dtype, seed=18)
    x[:3] = np.nan
    low, high = (np.full(256, v).astype(DTYPES[dtype]) for v in (-0.5, 0.75))
    wide = x.astype(np.float64)
    got = run(device, tl.clamp, [x, low, high], dtype)
    np.testing.assert_array_equal(got.astype(np.float64), np.fmin(np.fmax(wide, -0.5), 0.75))
    got = run(device, clamp_with_nan, [x, low, high], dtype)
    np.testing.assert_array_equal(got.astype(np.float64), np.clip(wide, -0.5, 0.75))


@triton.jit
def softmax_kernel(out, x, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr, IEEE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.softmax(tl.load(x + at), DIM, ieee_rounding=IEEE))


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("ieee", [False, True])
def test_softmax(device, dim, ieee):
    """`tl.softmax` along either dimension is that of float64."""
    x = random((16, 64), "fp32", seed=19)
    out = device.output((16, 64), "fp32")
    softmax_kernel[(1,)](out.array, device.to(x), 16, 64, dim, ieee)
    wide = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(out.numpy(), wide / wide.sum(dim or 0, keepdims=True), rtol=5e-6)


@triton.jit
def custom_float8_kernel(out, back, x, N: tl.constexpr):
    i = tl.arange(0, N)
    narrow = tl.extra.cuda.convert_custom_float8_sm80(tl.load(x + i), tl.float8e4b15)
    tl.store(out + i, narrow.to(tl.uint8, bitcast=True))
    tl.store(back + i, tl.extra.cuda.convert_custom_float8_sm70(narrow, tl.float16))


def test_custom_float8(device):
    """Sign, four bits of exponent with bias 15, three of fraction: what fp16 is without its lower ones."""
    codes = np.arange(256, dtype=np.uint8)
    codes = codes[codes % 128 < 127]
    codes = np.concatenate([codes, codes[:2]]).astype(np.uint16)
    x = ((codes & 0x80) << 8 | (codes & 0x7F) << 7).astype(np.uint16).view(np.float16)
    out, back = device.output(256, "u8"), device.output(256, "fp16")
    custom_float8_kernel[(1,)](out.array, back.array, device.to(x), 256)
    np.testing.assert_array_equal(out.numpy(), codes)
    np.testing.assert_array_equal(back.numpy(), x)
