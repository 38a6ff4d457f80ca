"""fp8e4b8 and fp8e5b16 (float8_e4m3fnuz, float8_e5m2fnuz): codes, rounding, arithmetic, products and padding."""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

FNUZ = ["fp8e4b8", "fp8e5b16"]
NAN = 0x80
both = pytest.mark.parametrize("dtype", FNUZ)


def all_codes(dtype):
    return np.arange(256, dtype=np.uint8).view(DTYPES[dtype])


def codes_of(exact, dtype):
    """The codes nearest to `exact`, by ml_dtypes; what is too large becomes the largest number."""
    kind = DTYPES[dtype]
    largest = float(ml_dtypes.finfo(kind).max)
    return np.clip(exact, -largest, largest).astype(kind).view(np.uint8)


@triton.jit
def cast_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr, ROUNDING: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, at < n)
    to = out_ptr.dtype.element_ty
    tl.store(out_ptr + at, x.to(to, fp_downcast_rounding=ROUNDING), at < n)


def cast(device, x, to, rounding=None):
    out = device.output(x.size, to)
    cast_kernel[(triton.cdiv(x.size, 256),)](out.array, device.to(x), x.size, 256, rounding)
    return out.numpy()


@both
@pytest.mark.parametrize("to", ["fp16", "bf16", "fp32", "fp64"])
def test_every_code_up(device, dtype, to):
    """All numbers of a format of 8 bits are numbers of the wider ones."""
    x = all_codes(dtype)
    expected = x.astype(np.float64)
    assert np.isnan(expected[NAN]) and np.isnan(expected).sum() == 1
    result = cast(device, x, to).astype(np.float64)
    np.testing.assert_array_equal(result, expected)
    assert not np.signbit(result[0])


def around_boundaries(dtype, source):
    """Every number of `dtype`, the middle between neighbours, and the numbers of `source` next to both."""
    kind = DTYPES[source]
    values = np.arange(128, dtype=np.uint8).view(DTYPES[dtype]).astype(np.float64)
    beyond = [values[-1] + (values[-1] - values[-2]) * part for part in (0.25, 0.5, 0.75, 3)]
    with np.errstate(over="ignore"):
        points = np.concatenate([values, (values[1:] + values[:-1]) / 2, beyond]).astype(kind)
    codes = points.view(f"u{points.itemsize}")
    near = np.concatenate([codes[1:] - 1, codes, codes + 1]).view(kind)
    others = np.array([np.inf, np.nan, ml_dtypes.finfo(kind).max, ml_dtypes.finfo(kind).tiny], kind)
    sizes = np.concatenate([near, others])
    return np.concatenate([sizes, -sizes])


def reference(x, dtype, rounding):
    """Codes of the nearest numbers (to even), or of those next to them toward zero."""
    exact = x.astype(np.float64)
    size = np.abs(exact)
    values = np.arange(128, dtype=np.uint8).view(DTYPES[dtype]).astype(np.float64)
    below = np.searchsorted(values, np.where(np.isnan(size), 0, size), side="right") - 1
    above = np.minimum(below + 1, 127)
    with np.errstate(invalid="ignore"):
        low, high = size - values[below], values[above] - size
        up = (high < low) | ((high == low) & (below % 2 == 1))
    code = np.where(up & (rounding != "rtz") & (size < values[-1]), above, below)
    code = np.where((exact < 0) & (code > 0), code | 0x80, code)
    return np.where(np.isnan(exact), NAN, code).astype(np.uint8)


@both
@pytest.mark.parametrize("source", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("rounding", [None, "rtne", "rtz"])
def test_down_next_to_every_boundary(device, dtype, source, rounding):
    x = around_boundaries(dtype, source)
    codes = cast(device, x, dtype, rounding).view(np.uint8)
    np.testing.assert_array_equal(codes, reference(x, dtype, rounding))


@both
@pytest.mark.parametrize("source", ["fp16", "bf16", "fp32"])
def test_random_numbers_down(device, dtype, source):
    generator = np.random.default_rng(3)
    x = generator.standard_normal(5000) * 2.0 ** generator.uniform(-22, 17, 5000)
    x = np.clip(x, -65504, 65504).astype(DTYPES[source])
    codes = cast(device, x, dtype).view(np.uint8)
    np.testing.assert_array_equal(codes, codes_of(x.astype(np.float32), dtype))


@both
@pytest.mark.parametrize("other", ["fp8e5", "fp8e4nv", *FNUZ])
def test_from_other_formats_of_8_bits(device, dtype, other):
    x = all_codes(other)
    if other == dtype:
        np.testing.assert_array_equal(cast(device, x, dtype).view(np.uint8), x.view(np.uint8))
        return
    codes = cast(device, x, dtype).view(np.uint8)
    np.testing.assert_array_equal(codes, reference(x, dtype, "rtne"))


@triton.jit
def constant_kernel(out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    to = out_ptr.dtype.element_ty
    tl.store(out_ptr + at, tl.full((N,), 3.3, to))
    tl.store(out_ptr + N + at, tl.full((N,), -1e9, to))
    tl.store(out_ptr + 2 * N + at, tl.full((N,), -0.0, to))
    tl.store(out_ptr + 3 * N + at, tl.full((N,), float("nan"), to))
    tl.store(out_ptr + 4 * N + at, tl.full((N,), float("inf"), to))
    tl.store(out_ptr + 5 * N + at, tl.zeros((N,), tl.float32).to(to))
    tl.store(out_ptr + 6 * N + at, (tl.zeros((N,), tl.float32) - 1e-9).to(to))


@both
def test_constants(device, dtype):
    """Constants are rounded to the nearest code, and have one NaN."""
    out = device.output(7 * 32, dtype)
    constant_kernel[(1,)](out.array, 32)
    exact = np.array([3.3, -1e9, 0.0, np.nan, np.inf, 0.0, 0.0])
    codes = out.numpy().view(np.uint8).reshape(7, 32)
    np.testing.assert_array_equal(codes, np.repeat(codes_of(exact, dtype)[:, None], 32, axis=1))


@triton.jit
def arithmetic_kernel(out_ptr, x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.static_assert((x + y).dtype == x.dtype)
    tl.store(out_ptr + at, x + y)
    tl.store(out_ptr + N + at, x * y)
    tl.store(out_ptr + 2 * N + at, x / y)
    tl.store(out_ptr + 3 * N + at, -x)
    tl.store(out_ptr + 4 * N + at, tl.abs(x))
    tl.store(out_ptr + 5 * N + at, tl.maximum(x, y))
    tl.store(out_ptr + 6 * N + at, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 7 * N + at, tl.fma(x, y, z))
    tl.store(out_ptr + 8 * N + at, tl.fdiv(x, y))
    tl.store(out_ptr + 9 * N + at, tl.clamp(x, -1.0, 2.0))
    tl.store(out_ptr + 10 * N + at, tl.where(x < y, x, y))
    tl.store(out_ptr + 11 * N + at, tl.div_rn(x, y))


@both
def test_arithmetic(device, dtype):
    """Computed in fp32 and rounded once."""
    n = 512
    x, y, z = (random(n, dtype, seed) for seed in (1, 2, 3))
    x[:4], y[2:5] = [np.nan, 0.0, 1.5, 0.0], [np.nan, 0.0, 0.5]
    out = device.output(12 * n, dtype)
    arithmetic_kernel[(1,)](out.array, device.to(x), device.to(y), device.to(z), n)
    a, b, c = (values.astype(np.float32) for values in (x, y, z))
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = a / b
        fused = (a.astype(np.float64) * b + c).astype(np.float32)
        parts = [a + b, a * b, quotient, -a, np.abs(a), np.fmax(a, b), np.minimum(a, b), fused]
        parts += [quotient, np.fmin(np.fmax(a, np.float32(-1)), np.float32(2))]
        parts += [np.where(a < b, a, b), quotient]
    codes = out.numpy().view(np.uint8).reshape(12, n)
    for number, part in enumerate(parts):
        np.testing.assert_array_equal(codes[number], codes_of(part, dtype), f"operation {number}")


@triton.jit
def reduce_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    tl.store(out_ptr + rows, tl.max(x, 1).to(tl.float32))
    tl.store(out_ptr + M + rows, tl.min(x, 1).to(tl.float32))
    tl.store(out_ptr + 2 * M + rows, tl.sum(x.to(tl.float32), 1))
    tl.store(out_ptr + 3 * M + rows, tl.argmax(x, 1).to(tl.float32))
    ordered = tl.sort(x, 1)
    tl.store(out_ptr + 4 * M + rows[:, None] * N + columns[None, :], ordered.to(tl.float32))


@both
def test_reductions(device, dtype):
    """Maxima, minima and sums are those of the wide numbers."""
    M, N = 8, 32
    x = random((M, N), dtype, 5)
    out = device.output(4 * M + M * N, "fp32")
    reduce_kernel[(1,)](out.array, device.to(x), M, N)
    wide, result = x.astype(np.float32), out.numpy()
    np.testing.assert_array_equal(result[:M], wide.max(1))
    np.testing.assert_array_equal(result[M : 2 * M], wide.min(1))
    np.testing.assert_allclose(result[2 * M : 3 * M], wide.astype(np.float64).sum(1), rtol=1e-6)
    np.testing.assert_array_equal(result[3 * M : 4 * M], wide.argmax(1))
    np.testing.assert_array_equal(result[4 * M :].reshape(M, N), np.sort(wide, 1))


@triton.jit
def matmul_kernel(
    out_ptr, a_ptr, b_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        at = k + ks
        a = tl.load(a_ptr + rows[:, None] * K + at[None, :], (rows[:, None] < M) & (at < K), 0.0)
        b = tl.load(b_ptr + at[:, None] * N + columns, (at[:, None] < K) & (columns < N), 0.0)
        total = tl.dot(a, b, total)
    tl.store(
        out_ptr + rows[:, None] * N + columns, total, (rows[:, None] < M) & (columns[None, :] < N)
    )


PAIRS = [("fp8e4b8", "fp8e4b8"), ("fp8e5b16", "fp8e5b16"), ("fp8e4b8", "fp8e5b16")]
PAIRS += [("fp8e4nv", "fp8e4b8"), ("fp8e5b16", "fp8e5")]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_dots_of_both_types(device, pair):
    """Operands enter as fp16, also next to a format that an instruction has."""
    M, N, K = 100, 80, 208
    a, b = random((M, K), pair[0], 6), random((K, N), pair[1], 7)
    out = device.output((M, N), "fp32")
    args = out.array, device.to(a), device.to(b), M, N, K
    matmul_kernel[(2, 2)](*args, BM=64, BN=64, BK=32)
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert (np.abs(out.numpy() - a @ b) <= np.abs(a) @ np.abs(b) * 2.0**-20).all()


@triton.jit
def window_kernel(out_ptr, x_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, PAD: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, (M, N), (N, 1), (BM, BN), padding_option=PAD)
    out = tl.make_tensor_descriptor(out_ptr, (2 * BM, BN), (BN, 1), (BM, BN))
    out.store([0, 0], x.load([M - BM // 2, 0]))
    block = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (M - BM // 2, 0), (BM, BN), (1, 0))
    out.store([BM, 0], tl.load(block, boundary_check=(0, 1), padding_option=PAD))


@both
@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_padding(device, dtype, padding):
    """Block pointers pad with the code of zero or of NaN."""
    M, N, BM, BN = 48, 48, 32, 64
    x = random((M, N), dtype, 8)
    out = device.output((2 * BM, BN), dtype)
    window_kernel[(1,)](out.array, device.to(x), M, N, BM, BN, padding)
    expected = np.full((BM, BN), NAN if padding == "nan" else 0, np.uint8)
    expected[: BM // 2, :N] = x[M - BM // 2 :].view(np.uint8)
    codes = out.numpy().view(np.uint8)
    np.testing.assert_array_equal(codes[:BM], expected)
    np.testing.assert_array_equal(codes[BM:], expected)


@triton.jit
def both_ways_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """Half the numbers to the format and back, in place."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    code = (tl.load(x_ptr + at, at < n).to(tl.float32) * 0.5).to(x_ptr.dtype.element_ty)
    tl.store(x_ptr + at, code, at < n)
    tl.debug_barrier()
    again = tl.load(x_ptr + at, at < n, other=1.0)
    tl.store(out_ptr + at, again.to(tl.uint8, bitcast=True), at < n)


@both
def test_in_place(device, dtype):
    """A kernel reads and overwrites one fnuz array."""
    x = all_codes(dtype)
    out, array = device.output(256, "u8"), device.to(x.copy())
    both_ways_kernel[(3,)](out.array, array, 256, 128)
    half = x.astype(np.float32) * np.float32(0.5)
    np.testing.assert_array_equal(out.numpy(), codes_of(half, dtype))


@triton.jit
def named_kernel(out_ptr, x_ptr, code_ptr, N: tl.constexpr):
    """The types by name: bytes taken as one, and numbers cast to the other."""
    at = tl.arange(0, N)
    codes = tl.load(code_ptr + at)
    tl.store(out_ptr + at, codes.to(tl.float8e4b8, bitcast=True).to(tl.float32))
    tl.store(out_ptr + N + at, codes.to(tl.float8e5b16, bitcast=True).to(tl.float32))
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + 2 * N + at, x.to(tl.float8e4b8).to(tl.uint8, bitcast=True))
    tl.store(out_ptr + 3 * N + at, x.to(tl.float8e5b16).to(tl.uint8, bitcast=True))


def test_types_by_name(device):
    codes, x = np.arange(256, dtype=np.uint8), random(256, "fp32", 9)
    out = device.output((4, 256), "fp32")
    named_kernel[(1,)](out.array, device.to(x), device.to(codes), 256)
    expected = [codes.view(DTYPES[dtype]).astype(np.float32) for dtype in FNUZ]
    expected += [codes_of(x, dtype).astype(np.float32) for dtype in FNUZ]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected))
