"""Dots over every element type and shape, against float64 (integers: exactly)."""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def dot_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    acc_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    OUT: tl.constexpr,
    HAS_ACC: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
    PRECISION: tl.constexpr,
    IMPRECISE: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    if B_TRANSPOSED:
        b = tl.trans(tl.load(b_ptr + n[:, None] * K + k[None, :]))
    else:
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    at = m[:, None] * N + n[None, :]
    if HAS_ACC:
        acc = tl.load(acc_ptr + at)
        c = tl.dot(
            a, b, acc, input_precision=PRECISION, out_dtype=OUT, max_num_imprecise_acc=IMPRECISE
        )
    else:
        c = tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT, max_num_imprecise_acc=IMPRECISE)
    tl.store(out_ptr + at, c)


def run(device, a, b, out, acc=None, b_transposed=False, precision=None, imprecise=None, warps=4):
    """The dot of `a` and `b` (given as K x N) by one program, in the type named `out`."""
    (M, K), N = a.shape, b.shape[1]
    result = device.output((M, N), out)
    dtype = {"fp16": tl.float16, "fp64": tl.float32, "i32": tl.float32}.get(out, tl.float32)
    dot_kernel[(1,)](
        result.array,
        device.to(a),
        device.to(np.ascontiguousarray(b.T) if b_transposed else b),
        device.to(acc) if acc is not None else result.array,
        M,
        N,
        K,
        dtype,
        acc is not None,
        b_transposed,
        precision,
        imprecise,
        num_warps=warps,
    )
    return result.numpy()


def is_fp8(array):
    return array.dtype.itemsize == 1 and array.dtype.kind not in "iu"


def check(result, a, b, acc=None):
    """Against float64, with 22 bits of fraction in the result and 20 in the sums."""
    # Hopper's tensor cores keep 13 bits of fraction where they sum products of fp8.
    sum_bits = 12 if is_fp8(a) else 20
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact = a @ b + (0 if acc is None else acc.astype(np.float64))
    size = np.abs(a) @ np.abs(b) + (0 if acc is None else np.abs(acc.astype(np.float64)))
    allowed = np.abs(exact) * 2.0**-22 + size * 2.0**-sum_bits
    error = np.abs(result.astype(np.float64) - exact)
    worst = np.unravel_index(np.argmax(error - allowed), error.shape)
    assert (error <= allowed).all(), f"at {worst}: {result[worst]} instead of {exact[worst]}"


RESULTS = {"fp16": "fp32", "bf16": "fp32", "fp8e5": "fp32", "fp8e4nv": "fp32", "fp64": "fp64"}
SHAPES = [(64, 64, 64), (128, 32, 32), (16, 16, 32), (32, 128, 64)]


@pytest.mark.parametrize("b_transposed", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", RESULTS)
def test_floats(device, dtype, shape, b_transposed):
    """A dot of every float type and shape, with an accumulator, agrees with float64."""
    M, N, K = shape
    a, b = random((M, K), dtype, 1), random((K, N), dtype, 2)
    acc = random((M, N), RESULTS[dtype], 3)
    check(run(device, a, b, RESULTS[dtype], acc, b_transposed), a, b, acc)


@pytest.mark.parametrize("shape", [*SHAPES, (256, 64, 128)], ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("b_transposed", [False, True], ids=["kn", "nk"])
def test_int8(device, shape, b_transposed):
    """A dot of int8 is exact, with an accumulator."""
    M, N, K = shape
    a = random((M, K), "i8", 4, low=-128, high=128)
    b = random((K, N), "i8", 5, low=-128, high=128)
    acc = random((M, N), "i32", 6, low=-(2**20), high=2**20)
    result = run(device, a, b, "i32", acc, b_transposed)
    np.testing.assert_array_equal(result, a.astype(np.int32) @ b.astype(np.int32) + acc)


@pytest.mark.parametrize("pair", [("fp8e5", "fp8e4nv"), ("fp8e4nv", "fp8e5")], ids="-".join)
@pytest.mark.parametrize("M", [16, 64])
def test_mixed_fp8(device, pair, M):
    a, b = random((M, 64), pair[0], 7), random((64, 32), pair[1], 8)
    check(run(device, a, b, "fp32"), a, b)


@pytest.mark.parametrize("dtype", ["fp16", "fp8e5", "fp8e4nv"])
@pytest.mark.parametrize("M", [16, 128])
def test_fp16_accumulator(device, dtype, M):
    a, b = random((M, 64), dtype, 9), random((64, 64), dtype, 10)
    acc = random((M, 64), "fp16", 11)
    result = run(device, a, b, "fp16", acc)
    exact = a.astype(np.float64) @ b.astype(np.float64) + acc
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) + np.abs(acc)
    assert (np.abs(result - exact) <= size * 2.0**-9).all()


@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("dtype", ["fp16", "fp8e4nv", "i8", "fp32", "fp64"])
def test_warps(device, dtype, warps):
    """The number of warps does not change a dot."""
    out = {"i8": "i32", "fp64": "fp64"}.get(dtype, "fp32")
    for M, N, K in [(64, 64, 32), (16, 32, 64), (128, 16, 32)]:
        a, b = random((M, K), dtype, 12), random((K, N), dtype, 13)
        precision = "ieee" if dtype == "fp32" else None
        check(run(device, a, b, out, precision=precision, warps=warps), a, b)


SMALL = [(1, 16, 16), (16, 1, 16), (1, 1, 32), (2, 8, 32), (8, 4, 16), (4, 64, 64), (64, 2, 32)]


@pytest.mark.parametrize("shape", SMALL, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp64"])
def test_few_rows_and_columns(device, dtype, shape):
    M, N, K = shape
    a, b = random((M, K), dtype, 14), random((K, N), dtype, 15)
    acc = random((M, N), RESULTS.get(dtype, "fp32"), 16)
    precision = "ieee" if dtype == "fp32" else None
    check(run(device, a, b, RESULTS.get(dtype, "fp32"), acc, precision=precision), a, b, acc)


@pytest.mark.parametrize("imprecise", [0, 32, 64, 128])
@pytest.mark.parametrize("M", [16, 128])
def test_max_num_imprecise_acc(device, imprecise, M):
    a, b = random((M, 128), "fp8e4nv", 17), random((128, 64), "fp8e4nv", 18)
    # The accumulator is far larger than the products: 13 bits of it would lose too much of them.
    acc = random((M, 64), "fp32", 19) * 2.0**10
    result = run(device, a, b, "fp32", acc, imprecise=imprecise)
    a, b = a.astype(np.float64), b.astype(np.float64)
    allowed = np.abs(a) @ np.abs(b) * 2.0**-12 + np.abs(acc) * 2.0**-17
    assert (np.abs(result - (a @ b + acc)) <= allowed).all()


@triton.jit
def batched_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    S: tl.constexpr,
    B: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    s, b = tl.arange(0, S), tl.arange(0, B)
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    batch = s[:, None] * B + b[None, :]
    lhs = tl.load(
        a_ptr
        + batch[:, :, None, None] * (M * K)
        + m[None, None, :, None] * K
        + k[None, None, None, :]
    )
    rhs = tl.load(
        b_ptr
        + batch[:, :, None, None] * (K * N)
        + k[None, None, :, None] * N
        + n[None, None, None, :]
    )
    at = batch[:, :, None, None] * (M * N) + m[None, None, :, None] * N + n[None, None, None, :]
    if S == 1:
        c = tl.dot(
            tl.reshape(lhs, (B, M, K)), tl.reshape(rhs, (B, K, N)), input_precision=PRECISION
        )
        tl.store(out_ptr + tl.reshape(at, (B, M, N)), c)
    else:
        tl.store(out_ptr + at, tl.dot(lhs, rhs, input_precision=PRECISION))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp8e5", "i8", "tf32", "fp32", "fp64"])
@pytest.mark.parametrize("batch", [(1, 4), (2, 2), (1, 1)], ids=str)
def test_batches(device, dtype, batch):
    """A dot of rank 3 or 4 is a dot for each matrix."""
    M, N, K = 16, 32, 32
    kind = "fp32" if dtype == "tf32" else dtype
    a, b = random((*batch, M, K), kind, 20), random((*batch, K, N), kind, 21)
    out = device.output((*batch, M, N), {"i8": "i32", "fp64": "fp64"}.get(dtype, "fp32"))
    precision = "ieee" if dtype == "fp32" else None
    batched_kernel[(1,)](
        out.array, device.to(a), device.to(b), *batch, M, N, K, precision, num_warps=4
    )
    result = out.numpy()
    if dtype == "tf32":
        assert np.abs(result - a.astype(np.float64) @ b.astype(np.float64)).max() < 32 * 2.0**-9
    else:
        check(result, a, b)


@triton.jit
def loop_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    K,
    M: tl.constexpr,
    N: tl.constexpr,
    BLOCK: tl.constexpr,
    OUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((M, N), OUT)
    for start in range(0, K, BLOCK):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=OUT)
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)


LOOPS = [
    ("fp16", "fp16", None),
    ("bf16", "fp32", None),
    ("fp8e4nv", "fp32", None),
    ("i8", "i32", None),
    ("fp32", "fp32", "ieee"),
    ("fp64", "fp64", None),
]


@pytest.mark.parametrize("M", [16, 64])
@pytest.mark.parametrize("case", LOOPS, ids=lambda c: c[0])
def test_loop_over_k(device, case, M):
    dtype, out, precision = case
    N, K = 64, 320
    a, b = random((M, K), dtype, 22), random((K, N), dtype, 23)
    result = device.output((M, N), out)
    kinds = {"fp16": tl.float16, "fp32": tl.float32, "fp64": tl.float64, "i32": tl.int32}
    stages = 2 if dtype == "fp64" else 3  # three of fp64 do not fit into an A100's shared memory
    loop_kernel[(1,)](
        result.array,
        device.to(a),
        device.to(b),
        K,
        M,
        N,
        64,
        kinds[out],
        precision,
        num_stages=stages,
    )
    if out == "fp16":
        exact = a.astype(np.float64) @ b.astype(np.float64)
        size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
        assert (np.abs(result.numpy() - exact) <= size * 2.0**-9).all()
    else:
        check(result.numpy(), a, b)


@triton.jit
def half_and_custom_kernel(out_ptr, a_ptr, b_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def e4b15_values(codes):
    """The numbers of fp8e4b15: 4 bits of exponent with a bias of 15, no infinity, no NaN."""
    codes = codes.astype(np.int64)
    exponent, fraction = codes >> 3 & 15, codes & 7
    size = np.where(
        exponent == 0, fraction * 2.0**-17, (1 + fraction / 8) * 2.0 ** (exponent - 15.0)
    )
    return np.where(codes & 128, -size, size)


def test_fp8e4b15_operands(device):
    codes = [random((32, 32), "u8", seed, low=0, high=256) for seed in (24, 25)]
    out = device.output((32, 32), "fp32")
    a, b = (triton.reinterpret(device.to(x), tl.float8e4b15) for x in codes)
    half_and_custom_kernel[(1,)](out.array, a, b, 32)
    check(out.numpy(), *map(e4b15_values, codes))


@pytest.mark.parametrize("other", ["fp8e5", "fp8e4nv"])
def test_fp8e4b15_next_to_another_format(device, other):
    codes, b = random((32, 32), "u8", 24, low=0, high=256), random((32, 32), other, 25)
    out = device.output((32, 32), "fp32")
    a = triton.reinterpret(device.to(codes), tl.float8e4b15)
    half_and_custom_kernel[(1,)](out.array, a, device.to(b), 32)
    check(out.numpy(), e4b15_values(codes), b)


def compile_error(device, a, b, acc=None, **options):
    with pytest.raises(triton.CompilationError) as raised:
        run(device, a, b, "fp32", acc, **options)
    return str(raised.value)


@pytest.mark.parametrize("dtype,k", [("fp16", 8), ("fp8e5", 16), ("fp32", 8), ("i8", 16)])
def test_k_has_a_minimum(device, dtype, k):
    message = compile_error(device, random((16, k), dtype), random((k, 16), dtype))
    assert f"K >= {32 if DTYPES[dtype] in (np.int8, ml_dtypes.float8_e5m2) else 16}" in message


def test_errors(device):
    """Operands of wrong types or precisions are refused with a reason."""

    def square(dtype):
        return random((32, 32), dtype, low=0)

    assert "only int8 is supported" in compile_error(device, square("u8"), square("u8"))
    assert "one type" in compile_error(device, square("fp16"), square("bf16"))
    assert "input precision" in compile_error(
        device, square("fp32"), square("fp32"), precision="tf33"
    )
    assert "must be <= K (32)" in compile_error(
        device, square("fp8e5"), square("fp8e5"), imprecise=64
    )
    assert "accumulator" in compile_error(
        device, square("fp16"), square("fp16"), acc=square("fp16")
    )
