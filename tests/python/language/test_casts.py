"""Conversions between all element types, bit for bit where NumPy and ml_dtypes say what is right."""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

WIDE = ["fp16", "bf16", "fp32", "fp64"]
FNUZ = ["fp8e4b8", "fp8e5b16"]
FLOATS = ["fp8e5", "fp8e4nv", *FNUZ, *WIDE]
INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
COUNT = 1024


@triton.jit
def cast_kernel(out_ptr, x_ptr, N: tl.constexpr, ROUNDING: tl.constexpr, BITCAST: tl.constexpr):
    at = tl.arange(0, N)
    to = out_ptr.dtype.element_ty
    tl.store(
        out_ptr + at,
        tl.cast(tl.load(x_ptr + at), to, fp_downcast_rounding=ROUNDING, bitcast=BITCAST),
    )


def run(device, x, out, rounding=None, bitcast=False):
    result = device.output(x.size, out)
    cast_kernel[(1,)](result.array, device.to(x), x.size, rounding, bitcast)
    return result.numpy()


def wide_floats(dtype, seed):
    """Floats of all sizes that `dtype` holds, with zeros of both signs, infinities and NaN."""
    generator = np.random.default_rng(seed)
    exponents = generator.uniform(-30, 20, COUNT)
    x = generator.choice([-1, 1], COUNT) * generator.uniform(1, 2, COUNT) * 2.0**exponents
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    with np.errstate(over="ignore"):
        return x.astype(DTYPES[dtype])


def whole_range(dtype, seed):
    """Integers of all sizes and signs."""
    kind = np.dtype(DTYPES[dtype])
    return np.frombuffer(np.random.default_rng(seed).bytes(COUNT * kind.itemsize), kind).copy()


def same(result, expected):
    """Equal numbers with equal signs of zero, NaN where NaN is."""
    result, expected = result.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    keep = ~np.isnan(expected)
    np.testing.assert_array_equal(result[keep], expected[keep])
    np.testing.assert_array_equal(np.signbit(result[keep]), np.signbit(expected[keep]))


def largest(dtype):
    return float(ml_dtypes.finfo(DTYPES[dtype]).max)


def converted(x, dtype):
    """Rounded to nearest even, once; formats of 8 bits become their largest number, not infinity."""
    wide = x.astype(np.float64)
    if dtype.startswith("fp8"):
        wide = np.where(np.isnan(wide), wide, np.clip(wide, -largest(dtype), largest(dtype)))
    if dtype in FNUZ:
        return nearest(wide, dtype) + 0.0  # there is no negative zero
    return nearest(wide, dtype)


def nearest(wide, dtype):
    """The numbers of `dtype` nearest to fp64 numbers, as fp64 or fp32."""
    if dtype == "fp64":
        return wide
    codes = all_finite(dtype)
    if np.dtype(DTYPES[dtype]).itemsize > 2:
        with np.errstate(over="ignore"):
            return wide.astype(np.float32)
    # ml_dtypes goes by way of fp32; look the neighbours up instead.
    values = codes.astype(np.float64)
    above = np.searchsorted(values, np.abs(wide)).clip(1, len(values) - 1)
    low, high = values[above - 1], values[above]
    size = np.abs(wide)
    even = (codes[above - 1].view(f"u{codes.dtype.itemsize}") & 1) == 0
    chosen = np.where((size - low < high - size) | ((size - low == high - size) & even), low, high)
    step = values[-1] - values[-2]
    chosen = np.where(size >= values[-1] + step / 2, np.inf, chosen)
    chosen = np.where((size > values[-1]) & np.isfinite(chosen), values[-1], chosen)
    return np.where(np.isnan(wide), np.nan, np.copysign(chosen, wide))


def all_finite(dtype):
    """All numbers of a format of 8 or 16 bits from 0 up, ascending."""
    kind = np.dtype(DTYPES[dtype])
    if kind.itemsize > 2:
        return np.zeros(2, kind)
    codes = np.arange(1 << (8 * kind.itemsize - 1), dtype=f"u{kind.itemsize}").view(kind)
    with np.errstate(invalid="ignore"):
        return codes[np.isfinite(codes.astype(np.float64))]


@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_float(device, source, to):
    x = wide_floats(source, 1)
    same(run(device, x, to), x if source == to else converted(x, to))


SMALLER = [
    (source, to)
    for source in FLOATS
    for to in FLOATS
    if np.dtype(DTYPES[to]).itemsize < np.dtype(DTYPES[source]).itemsize
]


@pytest.mark.parametrize("pair", SMALLER, ids="-".join)
def test_rounding_toward_zero(device, pair):
    source, to = pair
    x = wide_floats(source, 2)
    result = run(device, x, to, "rtz").astype(np.float64)
    wide = x.astype(np.float64)
    finite = np.isfinite(wide)
    # The nearest number that is no larger: the next one of the format is beyond.
    assert (np.abs(result[finite]) <= np.abs(wide[finite])).all()
    nearest = converted(x, to).astype(np.float64)[finite]
    exact = np.abs(nearest) <= np.abs(wide[finite])
    np.testing.assert_array_equal(result[finite][exact], nearest[exact])
    if np.dtype(DTYPES[to]).itemsize <= 2:
        values = all_finite(to).astype(np.float64)
        below = values[np.searchsorted(values, np.abs(wide[finite]), side="right") - 1]
        np.testing.assert_array_equal(np.abs(result[finite]), below)
    assert np.isnan(result[4])
    np.testing.assert_array_equal(np.sign(result[2:4]), [1, -1])


@pytest.mark.parametrize("to", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(device, source, to):
    kind = np.dtype(DTYPES[source])
    limits = np.iinfo(kind)
    x = whole_range(source, 3)
    x[:3] = [limits.min, limits.max, 0]
    result = run(device, x, to)
    if to == "fp64":
        expected = x.astype(np.float64)
    elif to == "fp32":
        expected = x.astype(np.float32)
    else:
        # fp64 rounds integers of 64 bits far below the last bit of these formats.
        expected = converted(x.astype(np.float64), to)
    same(result, expected)


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", ["fp16", "bf16", "fp32", "fp64"])
def test_float_to_integer_truncates(device, source, to):
    limits = np.iinfo(DTYPES[to])
    x = np.random.default_rng(4).uniform(
        max(limits.min, -30000), min(limits.max, 30000) * 0.99, COUNT
    )
    x = x.astype(DTYPES[source])
    inside = np.trunc(x.astype(np.float64)).clip(limits.min, limits.max)
    np.testing.assert_array_equal(run(device, x, to), inside.astype(DTYPES[to]))


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer_wraps(device, source, to):
    x = whole_range(source, 5)
    np.testing.assert_array_equal(run(device, x, to), x.astype(DTYPES[to]))


@pytest.mark.parametrize("source", [*WIDE, *INTEGERS])
def test_to_bool(device, source):
    x = wide_floats(source, 6) if source in FLOATS else random(COUNT, source, 6, low=0, high=3)
    np.testing.assert_array_equal(run(device, x, "i1"), x.astype(np.float64) != 0)


@pytest.mark.parametrize("to", [*WIDE, *INTEGERS])
def test_from_bool(device, to):
    x = random(COUNT, "i1", 7)
    np.testing.assert_array_equal(run(device, x, to).astype(np.float64), x.astype(np.float64))


PAIRS = [
    ("fp8e5", "i8"),
    ("u8", "fp8e4nv"),
    ("fp8e4b8", "i8"),
    ("u8", "fp8e5b16"),
    ("fp16", "i16"),
    ("bf16", "fp16"),
    ("u32", "fp32"),
]


@pytest.mark.parametrize("pair", [*PAIRS, ("fp64", "i64"), ("i16", "u16")], ids="-".join)
def test_bitcast(device, pair):
    """A bitcast keeps every bit."""
    source, to = pair
    codes = random(
        COUNT, {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[np.dtype(DTYPES[source]).itemsize]
    )
    x = codes.view(DTYPES[source])
    np.testing.assert_array_equal(run(device, x, to, bitcast=True).view(codes.dtype), codes)


def test_rtz_goes_with_smaller_floats_alone(device):
    for source, to in [("fp16", "fp32"), ("fp32", "i32"), ("fp16", "bf16")]:
        with pytest.raises(triton.CompilationError, match="fp_downcast_rounding"):
            run(device, random(16, source), to, "rtz")


@pytest.mark.parametrize("dtype", [*FLOATS, "i32"])
@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
def test_rounding_says_nothing_where_the_type_stays(device, dtype, rounding):
    x = random(COUNT, dtype)
    np.testing.assert_array_equal(run(device, x, dtype, rounding), x)


def test_no_cast_between_fp8_and_integers(device):
    for source, to in [("fp8e5", "i32"), ("i32", "fp8e4nv")]:
        with pytest.raises(triton.CompilationError, match="cannot cast"):
            run(device, random(16, source), to)


@triton.jit
def custom_kernel(half_ptr, code_ptr, x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    code = x.to(tl.float8e4b15)
    tl.static_assert(code.dtype.is_fp8())
    tl.store(code_ptr + at, code.to(tl.uint8, bitcast=True))
    tl.store(half_ptr + at, code.to(tl.float16))


@pytest.mark.parametrize("source", ["fp16", "fp32", "bf16"])
def test_fp8e4b15(device, source):
    """fp8e4b15 rounds as its definition says, and converts back."""
    x = np.random.default_rng(8).uniform(-2.2, 2.2, COUNT).astype(DTYPES[source])
    x[:4] = [0.0, -0.0, 1e-4, 100.0]
    half, code = device.output(COUNT, "fp16"), device.output(COUNT, "u8")
    custom_kernel[(1,)](half.array, code.array, device.to(x), COUNT)
    size = np.abs(x.astype(np.float16)).astype(np.float64).clip(max=1.75)
    step = 2.0 ** np.maximum(np.floor(np.log2(np.maximum(size, 1e-9))) - 3, -17)
    expected = np.copysign(np.floor(size / step + 0.5) * step, x.astype(np.float64))
    same(half.numpy(), expected)
    np.testing.assert_array_equal(half.numpy().view(np.uint16) >> 8 & 0x80, code.numpy() & 0x80)


@triton.jit
def custom_arithmetic_kernel(out_ptr, x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at).to(tl.float8e4b15, bitcast=True)
    tl.store(out_ptr + at, tl.abs(x).to(tl.float32))
    tl.store(out_ptr + N + at, tl.fma(x, x, x))
    tl.store(out_ptr + 2 * N + at, tl.fdiv(x, x.to(tl.float32)))


def test_arithmetic_of_fp8e4b15(device):
    codes = np.arange(1, 129, dtype=np.uint8)
    codes[64:] += 64  # the lower half of each sign, without zeros
    out = device.output((3, 128), "fp32")
    custom_arithmetic_kernel[(1,)](out.array, device.to(codes), 128)
    half = ((codes.astype(np.uint16) & 0x7F) << 7 | (codes.astype(np.uint16) & 0x80) << 8).view(
        "f2"
    )
    x = half.astype(np.float64)
    fused = (x * x + x).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(out.numpy(), np.stack([np.abs(x), fused, np.ones(128)]))


@triton.jit
def dtype_kernel(out_ptr, x_ptr):
    dtype: tl.constexpr = x_ptr.dtype.element_ty
    tl.store(out_ptr + 0, dtype.primitive_bitwidth)
    tl.store(out_ptr + 1, dtype.itemsize)
    tl.store(out_ptr + 2, dtype.is_fp8())
    tl.store(out_ptr + 3, dtype.is_floating())
    tl.store(out_ptr + 4, dtype.is_standard_floating())
    tl.store(out_ptr + 5, dtype.is_int())
    tl.store(out_ptr + 6, dtype.is_int_signed())
    tl.store(out_ptr + 7, dtype.is_int_unsigned())
    tl.store(out_ptr + 8, dtype.is_bool())
    tl.store(out_ptr + 9, tl.get_int_dtype(32, True) == tl.int32)
    tl.store(out_ptr + 10, tl.get_int_dtype(bitwidth=8, signed=False) == tl.uint8)
    tl.store(out_ptr + 11, tl.block_type(tl.float32, [4, 8]).shape[1])
    tl.store(out_ptr + 12, tl.pi32_t.element_ty == tl.int32)
    tl.store(out_ptr + 13, x_ptr.dtype.is_ptr())


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_questions_about_types(device, dtype):
    out = device.output(14, "i32")
    dtype_kernel[(1,)](out.array, device.to(random(16, dtype)))
    kind, is_float = np.dtype(DTYPES[dtype]), dtype in FLOATS
    is_fp8 = dtype.startswith("fp8")
    about = [kind.itemsize * 8, kind.itemsize, is_fp8, is_float, is_float and not is_fp8]
    about += [not is_float, dtype[0] == "i", dtype[0] == "u", False, True, True, 8, True, True]
    np.testing.assert_array_equal(out.numpy(), np.array(about, np.int32))


@triton.jit
def few_columns_kernel(out_ptr, x_ptr, N: tl.constexpr):
    """Most threads' loads are never made, as the compiler proves."""
    i, j = tl.arange(0, N), tl.arange(0, N)
    few = (i < N - 4)[:, None] & (j < 2)[None, :]
    tile = tl.load(x_ptr + i[:, None] + j[None, :] * N, mask=few, other=0.0)
    tl.store(out_ptr + i[:, None] + j[None, :] * N, tile.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("source", ["fp8e5", "fp8e4nv", "fp16", "bf16", "i8"])
@pytest.mark.parametrize("to", ["fp16", "fp32", "fp64"])
def test_casts_of_columns_that_are_not_loaded(device, source, to):
    if source == "fp8e4nv" and device.arch and device.arch < 89:
        pytest.skip("no fp8e4nv before Ada")
    size = 32
    x, out = random((size, size), source, 7), device.output((size, size), to)
    few_columns_kernel[(1,)](out.array, device.to(x), size, num_warps=1)
    wanted = np.zeros((size, size))
    wanted[:2, : size - 4] = x[:2, : size - 4].astype(np.float64)
    np.testing.assert_array_equal(out.numpy().astype(np.float64), wanted)
