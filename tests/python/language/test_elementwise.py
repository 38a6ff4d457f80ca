"""Element-wise operations, casts and the promotion rules, against NumPy."""

import itertools

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def unary_kernel(out_ptr, x_ptr, N: tl.constexpr, FUNCTION: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, FUNCTION(tl.load(x_ptr + offsets)))


@triton.jit
def negated(x):
    return -x


def erf(x):
    import math

    return np.vectorize(math.erf)(x)


UNARY = {
    "exp": (tl.exp, np.exp),
    "exp2": (tl.math.exp2, np.exp2),
    "log": (tl.log, np.log),
    "log2": (tl.log2, np.log2),
    "sqrt": (tl.sqrt, np.sqrt),
    "rsqrt": (tl.rsqrt, lambda x: 1 / np.sqrt(x)),
    "sin": (tl.sin, np.sin),
    "cos": (tl.cos, np.cos),
    "erf": (tl.erf, erf),
    "floor": (tl.floor, np.floor),
    "ceil": (tl.ceil, np.ceil),
    "abs": (tl.abs, np.abs),
    "neg": (negated, np.negative),
    "sigmoid": (tl.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
}


@pytest.mark.parametrize("op", list(UNARY))
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_unary(device, op, dtype):
    """A function of one operand agrees with NumPy in every type."""
    x = random(256, dtype, seed=1) * 3
    if op in ("log", "log2", "sqrt", "rsqrt"):
        x = np.abs(x) + DTYPES[dtype](0.01)
    out = device.output(256, dtype)
    function, exact = UNARY[op]
    unary_kernel[(1,)](out.array, device.to(x), 256, function)
    if dtype == "fp64" and op in ("exp", "exp2", "log", "log2", "sin", "cos", "erf", "sigmoid"):
        tolerance = 1e-6  # as exact as fp32 at least
    else:
        tolerance = 2e-6
    np.testing.assert_allclose(
        out.numpy(), exact(x.astype(np.float64)), rtol=tolerance, atol=tolerance
    )


@triton.jit
def binary_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr, OP: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    if OP == "+":
        z = x + y
    elif OP == "-":
        z = x - y
    elif OP == "*":
        z = x * y
    elif OP == "/":
        z = x / y
    elif OP == "//":
        z = x // y
    elif OP == "%":
        z = x % y
    elif OP == "&":
        z = x & y
    elif OP == "|":
        z = x | y
    elif OP == "^":
        z = x ^ y
    elif OP == "<<":
        z = x << y
    elif OP == ">>":
        z = x >> y
    elif OP == "<":
        z = x < y
    elif OP == "<=":
        z = x <= y
    elif OP == "==":
        z = x == y
    elif OP == "!=":
        z = x != y
    elif OP == "max":
        z = tl.maximum(x, y)
    elif OP == "min":
        z = tl.minimum(x, y)
    tl.static_assert(z.dtype == out_ptr.dtype.element_ty, "the result has another type")
    tl.store(out_ptr + offsets, z)


RANK = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 3, "u32": 3, "i64": 4, "u64": 4}


def promoted(x, y):
    """The type of `x + y`: the higher kind; C's rules for ints; fp64 > fp32 > fp16 > bf16 for floats."""
    floats = [t for t in (x, y) if t.startswith(("fp", "bf"))]
    if len(floats) == 1:
        return floats[0]
    if floats:
        if x == y:
            return x
        return next(t for t in ("fp64", "fp32", "fp16", "bf16") if t in (x, y))
    if RANK[x] != RANK[y]:
        return max(x, y, key=RANK.get)
    return x if x[0] == "u" else y


def narrow(values, dtype):
    """Integers as a C cast gives them, floats as rounded once."""
    return values.astype(DTYPES[dtype])


ALL = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64"]
PAIRS = [pair for pair in itertools.product(ALL, ALL)]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_promotion_of_a_sum(device, pair):
    x, y = random(32, pair[0], seed=2, low=0, high=50), random(32, pair[1], seed=3, low=0, high=50)
    dtype = promoted(*pair)
    out = device.output(32, dtype)
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 32, "+")
    expected = narrow(
        narrow(x, dtype).astype(np.float64) + narrow(y, dtype).astype(np.float64), dtype
    )
    np.testing.assert_array_equal(out.numpy().astype(np.float64), expected.astype(np.float64))


def c_quotient(x, y):
    return np.trunc(x.astype(np.float64) / y.astype(np.float64)).astype(x.dtype)


INTS = {
    "-": np.subtract,
    "*": np.multiply,
    "//": c_quotient,
    "%": lambda x, y: x - c_quotient(x, y) * y,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
}


@pytest.mark.parametrize("op", list(INTS))
@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "u8", "u32"])
def test_int_arithmetic(device, op, dtype):
    x, y = random(64, dtype, seed=4), random(64, dtype, seed=5)
    y[y == 0] = 3
    out = device.output(64, dtype)
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 64, op)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out.numpy(), INTS[op](x, y))


@pytest.mark.parametrize("op", ["<<", ">>"])
@pytest.mark.parametrize("dtype", ["i32", "i64", "u32"])
def test_shifts(device, op, dtype):
    """Shifts of integers are NumPy's."""
    x, y = random(64, dtype, seed=6), random(64, dtype, seed=7, low=0, high=20)
    out = device.output(64, dtype)
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 64, op)
    np.testing.assert_array_equal(
        out.numpy(), np.left_shift(x, y) if op == "<<" else np.right_shift(x, y)
    )


FLOATS = {"-": np.subtract, "*": np.multiply, "/": np.divide, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("op", list(FLOATS))
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_float_arithmetic(device, op, dtype):
    x, y = random(64, dtype, seed=8), random(64, dtype, seed=9)
    # Quotients of narrow floats are computed, and stay, in fp32; so are extremes of bf16.
    widened = {"/": ("fp16", "bf16"), "max": ("bf16",), "min": ("bf16",)}
    out_dtype = "fp32" if dtype in widened.get(op, ()) else dtype
    out = device.output(64, out_dtype)
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 64, op)
    wide = FLOATS[op](x.astype(np.float64), y.astype(np.float64))
    tolerance = 3e-7 if op == "/" and out_dtype == "fp32" else 0
    np.testing.assert_allclose(
        out.numpy().astype(np.float64), narrow(wide, out_dtype).astype(np.float64), tolerance
    )


def test_int_quotient_is_fp32(device):
    x, y = random(32, "i32", seed=10), random(32, "i32", seed=11, low=1)
    out = device.output(32, "fp32")
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 32, "/")
    np.testing.assert_allclose(out.numpy(), x / y, rtol=3e-7)


@pytest.mark.parametrize("op", ["<", "<=", "==", "!="])
@pytest.mark.parametrize("dtype", ["i8", "u8", "i64", "fp16", "fp32"])
def test_comparisons(device, op, dtype):
    """Comparisons are NumPy's in every type."""
    x, y = random(64, dtype, seed=12, high=5), random(64, dtype, seed=13, high=5)
    y[::3] = x[::3]
    out = device.output(64, "i1")
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 64, op)
    compare = {"<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal}[op]
    np.testing.assert_array_equal(out.numpy(), compare(x, y))


def test_unsigned_comparison(device):
    x, y = (
        np.array([0, 1, 2**31, 2**32 - 1], np.uint32),
        np.array([2**32 - 1, 2**31, 1, 0], np.uint32),
    )
    out = device.output(4, "i1")
    binary_kernel[(1,)](out.array, device.to(x), device.to(y), 4, "<")
    np.testing.assert_array_equal(out.numpy(), x < y)


@triton.jit
def cast_kernel(out_ptr, x_ptr, N: tl.constexpr, BITCAST: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty, bitcast=BITCAST))


CASTS = [
    ("fp32", "fp16"),
    ("fp32", "bf16"),
    ("fp16", "fp32"),
    ("bf16", "fp32"),
    ("fp16", "bf16"),
    ("fp64", "fp32"),
    ("fp32", "i32"),
    ("fp32", "i8"),
    ("i32", "fp32"),
    ("i64", "fp32"),
    ("u8", "fp16"),
    ("i32", "i8"),
    ("i8", "i64"),
    ("u8", "i32"),
    ("i32", "u64"),
    ("i1", "i32"),
    ("i1", "fp32"),
    ("fp32", "fp8e5"),
    ("fp32", "fp8e4nv"),
    ("fp8e5", "fp16"),
    ("fp8e4nv", "fp32"),
]


@pytest.mark.parametrize("pair", CASTS, ids="-".join)
def test_cast(device, pair):
    """Conversions between types are NumPy's."""
    x = random(128, pair[0], seed=14, low=None if pair[0][0] == "i" else 0)
    if pair[0] == "fp32" and pair[1].startswith("i"):
        x = x * 30
    out = device.output(128, pair[1])
    cast_kernel[(1,)](out.array, device.to(x), 128, False)
    source = np.trunc(x) if pair[1].startswith("i") and x.dtype.kind == "f" else x
    np.testing.assert_array_equal(
        out.numpy().astype(np.float64), source.astype(DTYPES[pair[1]]).astype(np.float64)
    )


def test_bitcast(device):
    """A bitcast to an integer keeps every bit."""
    x = random(64, "fp32", seed=15)
    out = device.output(64, "i32")
    cast_kernel[(1,)](out.array, device.to(x), 64, True)
    np.testing.assert_array_equal(out.numpy(), x.view(np.int32))


@pytest.mark.parametrize("dtype", ["fp8e5", "fp8e4nv", "fp8e4b8", "fp8e5b16"])
def test_every_fp8_value(device, dtype):
    x = np.arange(256, dtype=np.uint8).view(DTYPES[dtype])
    out = device.output(256, "fp32")
    cast_kernel[(1,)](out.array, device.to(x), 256, False)
    np.testing.assert_array_equal(out.numpy(), x.astype(np.float32))


@triton.jit
def literal_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = (x + 1) * 2.0 - 0.5
    tl.static_assert(y.dtype == tl.float16)
    tl.store(out_ptr + offsets, tl.where(x > 0, y, -x))


def test_literals_take_the_type_of_the_tile(device):
    x = random(64, "fp16", seed=16)
    out = device.output(64, "fp16")
    literal_kernel[(1,)](out.array, device.to(x), 64)
    one, two, half = np.float16(1), np.float16(2), np.float16(0.5)
    np.testing.assert_array_equal(out.numpy(), np.where(x > 0, (x + one) * two - half, -x))


@triton.jit
def shape_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    if OP == "trans":
        y = tl.trans(x)
    elif OP == "T":
        y = x.T
    elif OP == "permute":
        y = tl.permute(x, (1, 0))
    elif OP == "reshape":
        y = tl.reshape(x, (N, M))
    elif OP == "ravel":
        y = tl.ravel(x).reshape(N, M)
    elif OP == "join":
        y = tl.reshape(tl.join(x, x + 1), (2 * M * N // M, M))
    tl.store(out_ptr + tl.arange(0, y.shape[0])[:, None] * M + rows[None, :], y)


@pytest.mark.parametrize("op", ["trans", "T", "permute", "reshape", "ravel", "join"])
def test_shapes(device, op):
    """Reshaping, joining and transposing are NumPy's."""
    x = random((16, 64), "fp32", seed=17)
    expected = {
        "reshape": x.reshape(64, 16),
        "ravel": x.reshape(64, 16),
        "join": np.stack([x, x + np.float32(1)], axis=-1).reshape(128, 16),
    }.get(op, x.T)
    out = device.output(expected.shape, "fp32")
    shape_kernel[(1,)](out.array, device.to(x), 16, 64, op)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def fp8_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, x + y)
    tl.store(out_ptr + N + at, x - y)
    tl.store(out_ptr + 2 * N + at, x * 0.5)
    tl.store(out_ptr + 3 * N + at, -x)
    tl.store(out_ptr + 4 * N + at, tl.where((x > y) & (y != 0), x, y))
    tl.store(out_ptr + 5 * N, tl.sum(tl.where(at < 4, x, 0.0), 0).to(x.dtype))


@pytest.mark.parametrize("dtype", ["fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"])
def test_fp8(device, dtype):
    """Operators on fp8 compute in fp32 and round once; sums of small numbers are exact."""
    x, y = random(128, dtype, 1), random(128, dtype, 2)
    x[:5], y[3:6] = [1, 2, -0.5, 0, -0.0], 0
    out = device.output(5 * 128 + 1, dtype)
    fp8_kernel[(1,)](out.array, device.to(x), device.to(y), 128)
    a, b = x.astype(np.float32), y.astype(np.float32)
    chosen = np.where((a > b) & (b != 0), a, b)
    parts = [a + b, a - b, a * 0.5, -a, chosen, [2.5]]
    expected = np.concatenate(parts).astype(x.dtype)
    np.testing.assert_array_equal(
        out.numpy().astype(np.float32), expected.astype(np.float32), strict=True
    )


@triton.jit
def leaky_kernel(out_ptr, x_ptr, N: tl.constexpr, SLOPE: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.where(x >= 0, x, SLOPE * x))
    tl.store(out_ptr + N + at, tl.where(x > 0, x, x * SLOPE))


@pytest.mark.parametrize("slope", [0.01, 1.0, 1.5, -0.25, 0.0])
def test_leaky(device, slope):
    """The sign of zero, NaN and infinities come out as the comparison says, whatever the slope."""
    x = random(256, "fp32", seed=23)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, -1e-45]
    out = device.output(512, "fp32")
    leaky_kernel[(1,)](out.array, device.to(x), 256, slope)
    with np.errstate(invalid="ignore"):
        scaled = x * np.float32(slope)
    expected = np.concatenate([np.where(x >= 0, x, scaled), np.where(x > 0, x, scaled)])
    np.testing.assert_array_equal(out.numpy(), expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(out.numpy())[numbers], np.signbit(expected)[numbers])
