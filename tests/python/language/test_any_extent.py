"""Tiles whose extents are no powers of two, on every device, against NumPy: every element, random data."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from extent_checks import (
    CHANGES_OF_SHAPE,
    add_kernel,
    check_change_of_shape,
    check_masked_load,
    check_reduction,
    check_reduction_of_pairs,
    check_scan,
)

LENGTHS = [1, 3, 48, 96, 97, 100, 176, 192, 1000]
SHAPES = [(48, 96), (3, 5), (96, 8), (7, 100), (1, 33), (24, 40)]


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "i8", "i64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_add(device, length, dtype):
    """Element-wise results of any length are NumPy's, bit for bit."""
    x, y = random(length, dtype, seed=1), random(length, dtype, seed=2)
    out = device.output(length, dtype)
    add_kernel[(1,)](out.array, device.to(x), device.to(y), length)
    with np.errstate(over="ignore"):
        expected = (x * x.dtype.type(2) + y).astype(x.dtype)
    assert out.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_masked_load_of_several_programs(device, length, num_warps):
    """With tiles of any extent."""
    check_masked_load(device, length, num_warps)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_reduce(device, shape, axis, num_warps):
    """Sums, maxima and their places along both axes are NumPy's."""
    check_reduction(device, shape, axis, num_warps)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("length", LENGTHS)
def test_reduction_of_pairs(device, length, num_warps):
    """A function of two values reduces tiles of any extent."""
    check_reduction_of_pairs(device, length, num_warps)


@triton.jit
def softmax_kernel(out_ptr, x_ptr, N: tl.constexpr):
    row = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + row)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row, e / tl.sum(e, 0))


@pytest.mark.parametrize("columns", [1000, 100, 384, 97])
def test_softmax_of_a_row_in_one_tile(device, columns):
    x = random((5, columns), "fp32", seed=7)
    out = device.output((5, columns), "fp32")
    softmax_kernel[(5,)](out.array, device.to(x), columns)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), e / e.sum(1, keepdims=True), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("op", CHANGES_OF_SHAPE)
@pytest.mark.parametrize("shape", [(48, 96), (3, 6), (20, 12), (1, 10)])
def test_shape(device, shape, op, num_warps):
    """Each change of shape moves every element as NumPy does."""
    check_change_of_shape(device, shape, op, num_warps)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_scan(device, shape, axis, num_warps):
    """Prefix sums along both axes are NumPy's."""
    check_scan(device, shape, axis, False, num_warps)


@triton.jit
def gather_kernel(out_ptr, x_ptr, i_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(out_ptr + at, tl.gather(x, tl.load(i_ptr + at), 1))


@pytest.mark.parametrize("columns", [5, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_gather(device, shape, columns):
    """Elements are gathered as by `take_along_axis`."""
    x = random(shape, "fp32", seed=11)
    index = np.random.default_rng(12).integers(0, shape[1], (shape[0], columns), dtype=np.int32)
    out = device.output((shape[0], columns), "fp32")
    gather_kernel[(1,)](out.array, device.to(x), device.to(index), *shape, columns)
    np.testing.assert_array_equal(out.numpy(), np.take_along_axis(x, index, 1))


@triton.jit
def count_kernel(out_ptr, old_ptr, bins_ptr, x_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(old_ptr + tl.arange(0, N), tl.atomic_add(out_ptr + tl.arange(0, N), x))
    tl.store(bins_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@pytest.mark.parametrize("length", LENGTHS)
def test_atomics_and_histogram(device, length):
    x = np.random.default_rng(13).integers(0, 11, length, dtype=np.int32)
    start = random(length, "i32", seed=14)
    sums, old, bins = (
        device.to(start.copy()),
        device.output(length, "i32"),
        device.output(11, "i32"),
    )
    count_kernel[(1,)](sums, old.array, bins.array, device.to(x), length, 11)
    np.testing.assert_array_equal(device.numpy(sums), start + x)
    np.testing.assert_array_equal(old.numpy(), start)
    np.testing.assert_array_equal(bins.numpy(), np.bincount(x, minlength=11))


@triton.jit
def dot_kernel(
    out_ptr, a_ptr, b_ptr, K, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, T: tl.constexpr,
    PRECISION: tl.constexpr = None,
):  # fmt: skip
    """One tile of the result; B lies along K if `T`."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    acc = tl.zeros((M, N), out_ptr.dtype.element_ty)
    for start in range(0, K, D):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        if T:
            b = tl.trans(tl.load(b_ptr + n[:, None] * K + (start + k)[None, :]))
        else:
            b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=out_ptr.dtype.element_ty)
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)


PRODUCTS = [
    (192, 96, 48), (48, 96, 64), (64, 96, 32), (128, 192, 64), (192, 128, 64), (80, 128, 32),
    (64, 80, 64), (16, 24, 32), (112, 176, 32), (128, 48, 48),
]  # fmt: skip


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", PRODUCTS)
@pytest.mark.parametrize("dtype", ["fp16", "i8"])
def test_dot(device, dtype, shape, transposed, num_warps):
    """A dot of any extents agrees with NumPy."""
    m, n, d = shape
    k = 3 * d
    result = "i32" if dtype == "i8" else "fp32"
    a, b = random((m, k), dtype, seed=15), random((k, n), dtype, seed=16)
    out = device.output((m, n), result)
    b_given = np.ascontiguousarray(b.T) if transposed else b
    dot_kernel[(1,)](
        out.array, device.to(a), device.to(b_given), k, *shape, transposed, num_warps=num_warps
    )
    if result == "fp32":
        check_gemm(out.numpy(), a, b)
    else:
        np.testing.assert_array_equal(out.numpy(), a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("extent", [*range(1, 18), 23, 25])
@pytest.mark.parametrize("dtype", ["fp16", "i8", "fp32"])
def test_dot_of_every_small_extent(device, dtype, extent, num_warps):
    """Of 9 to 15 rows an instruction's second half of rows holds some."""
    result = "i32" if dtype == "i8" else "fp32"
    for m, n in ((extent, 32), (32, extent), (extent, extent)):
        a, b = random((m, 64), dtype, 15, -4, 4), random((64, n), dtype, 16, -4, 4)
        a, b = np.rint(a).astype(a.dtype), np.rint(b).astype(b.dtype)
        out = device.output((m, n), result)
        dot_kernel[(1,)](
            out.array, device.to(a), device.to(b), 64, m, n, 32, False, "tf32", num_warps=num_warps
        )
        np.testing.assert_array_equal(out.numpy(), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("shape", [(48, 24, 20), (5, 7, 17), (100, 30, 24), (96, 48, 48)])
@pytest.mark.parametrize("precision", ["ieee", "tf32", "bf16x3"])
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_dot_of_wide_types(device, dtype, precision, shape):
    """Small integers, which every precision multiplies exactly."""
    m, n, d = shape
    generator = np.random.default_rng(17)
    a = generator.integers(-20, 20, (m, 2 * d)).astype(dtype.replace("fp", "float"))
    b = generator.integers(-20, 20, (2 * d, n)).astype(a.dtype)
    out = device.output((m, n), dtype)
    dot_kernel[(1,)](out.array, device.to(a), device.to(b), 2 * d, *shape, False, precision)
    np.testing.assert_array_equal(out.numpy(), a @ b)


@triton.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, HOW: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = A B with pointers and masks, block pointers, or descriptors."""
    columns = tl.cdiv(N, BLOCK_N)
    top = tl.program_id(0) // columns * BLOCK_M
    left = tl.program_id(0) % columns * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    rows, cols = top + tl.arange(0, BLOCK_M), left + tl.arange(0, BLOCK_N)
    deep = tl.arange(0, BLOCK_K)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    if HOW == "masks":
        for k in range(0, K, BLOCK_K):
            ks = k + deep
            a_mask = (rows[:, None] < M) & (ks[None, :] < K)
            b_mask = (ks[:, None] < K) & (cols[None, :] < N)
            a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=a_mask, other=0.0)
            b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=b_mask, other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(tl.float16), mask=inside)
    elif HOW == "blocks":
        a_block = tl.make_block_ptr(
            a_ptr, (M, K), (K, 1), (top, 0), (BLOCK_M, BLOCK_K), order=(1, 0)
        )
        b_block = tl.make_block_ptr(
            b_ptr, (K, N), (N, 1), (0, left), (BLOCK_K, BLOCK_N), order=(1, 0)
        )
        for _ in range(0, K, BLOCK_K):
            a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
            b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
            acc = tl.dot(a, b, acc)
            a_block = tl.advance(a_block, (0, BLOCK_K))
            b_block = tl.advance(b_block, (BLOCK_K, 0))
        c_block = tl.make_block_ptr(
            c_ptr, (M, N), (N, 1), (top, left), (BLOCK_M, BLOCK_N), order=(1, 0)
        )
        tl.store(c_block, acc.to(tl.float16), boundary_check=(0, 1))
    else:
        a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
        b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
        c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([top, k]), b_desc.load([k, left]), acc)
        c_desc.store([top, left], acc.to(tl.float16))


@pytest.mark.parametrize("how", ["masks", "blocks", "descriptors"])
@pytest.mark.parametrize(
    "blocks",
    [
        (128, 192, 64, 8, 4), (192, 96, 48, 4, 3), (64, 176, 64, 4, 3), (192, 128, 64, 4, 3),
        (128, 96, 96, 8, 3), (48, 80, 32, 4, 2), (96, 64, 64, 4, 3), (128, 160, 32, 8, 4),
        (192, 192, 64, 8, 3), (80, 48, 16, 4, 4), (64, 144, 48, 4, 1),
    ],
)  # fmt: skip
def test_gemm(device, blocks, how):
    """A GEMM of blocks of any extents agrees with NumPy."""
    m, n, k = 300, 400, 200
    block_m, block_n, block_k, num_warps, num_stages = blocks
    a, b = random((m, k), "fp16", seed=19), random((k, n), "fp16", seed=20)
    out = device.output((m, n), "fp16")
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    gemm_kernel[grid](
        device.to(a), device.to(b), out.array, m, n, k, how, block_m, block_n, block_k,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    deep = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + deep[None, :], mask=rows[:, None] < length, other=0.0)
    most = tl.full((BLOCK_M,), -1e30, tl.float32)
    sums = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, length, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        kv_mask = cols[:, None] < length
        k = tl.load(k_ptr + cols[:, None] * D + deep[None, :], mask=kv_mask, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * D + deep[None, :], mask=kv_mask, other=0.0)
        s = tl.dot(q, tl.trans(k)) * 0.125
        seen = cols[None, :] < length
        if CAUSAL:
            seen = seen & (rows[:, None] >= cols[None, :])
        s = tl.where(seen, s, -1e30)
        new_most = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - new_most[:, None])
        scale = tl.exp(most - new_most)
        sums = sums * scale + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * scale[:, None])
        most = new_most
    out = (acc / sums[:, None]).to(tl.float16)
    tl.store(o_ptr + rows[:, None] * D + deep[None, :], out, mask=rows[:, None] < length)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "blocks",
    [
        (128, 176, 64, 8, 3), (64, 80, 64, 4, 3), (64, 96, 96, 4, 3), (192, 64, 64, 4, 3),
        (48, 48, 80, 4, 3), (128, 176, 128, 8, 2), (192, 128, 64, 8, 2), (80, 128, 64, 4, 2),
        (192, 96, 64, 8, 3),
    ],
)  # fmt: skip
def test_attention_of_any_blocks(device, blocks, causal):
    """Attention of blocks of any extents agrees with NumPy."""
    block_m, block_n, d, num_warps, num_stages = blocks
    length = 300
    q, k, v = (random((length, d), "fp16", seed=21 + i) for i in range(3))
    out = device.output((length, d), "fp16")
    grid = (triton.cdiv(length, block_m),)
    attention_kernel[grid](
        device.to(q), device.to(k), device.to(v), out.array, length, block_m, block_n, d, causal,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    if causal:
        s = np.where(np.tril(np.ones_like(s)) > 0, s, -np.inf)
    p = np.exp(s - s.max(1, keepdims=True))
    expected = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-2, atol=4e-3)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [*SHAPES, (1, 1000), (100, 3), (300, 1)])
def test_reversed_scan(device, shape, axis, num_warps):
    check_scan(device, shape, axis, True, num_warps)


@triton.jit
def ranges_kernel(out_ptr, N: tl.constexpr, M: tl.constexpr):
    """A reshape of what no operation fixes the layout of, in no place that a layout follows."""
    x = tl.reshape(tl.arange(0, M * N), (M, N))
    tl.store(out_ptr + tl.arange(0, N), tl.sum(x * x, 0))


@pytest.mark.parametrize("shape", [(6, 16), (5, 12), (12, 20)])
def test_reshape_of_a_range(device, shape):
    m, n = shape
    out = device.output(n, "i32")
    ranges_kernel[(1,)](out.array, n, m)
    x = np.arange(m * n, dtype=np.int32).reshape(shape)
    np.testing.assert_array_equal(out.numpy(), (x * x).sum(0))


@triton.jit
def cast_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    for _ in range(0, 2):
        x = (x.to(tl.float32) + 1).to(x.dtype)
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty))


CASTS = [
    (dtype, to)
    for dtype in ("fp8e4nv", "fp8e5", "i8", "fp16", "bf16", "fp64")
    for to in ("fp32", "fp16", "fp8e5")
    if (dtype, to) != ("i8", "fp8e5")  # there is no such conversion
]


@pytest.mark.parametrize("dtype, to", CASTS)
@pytest.mark.parametrize("shape", [(96, 5), (48, 96), (3, 7)])
def test_casts_in_pairs_of_registers(device, shape, dtype, to):
    """Three registers are a pair and a half."""
    x = np.random.default_rng(32).integers(0, 6, shape).astype(random((1,), dtype, seed=0).dtype)
    out = device.output(shape, to)
    cast_kernel[(1,)](out.array, device.to(x), *shape, num_warps=8)
    np.testing.assert_array_equal(out.numpy().astype(np.float32), x.astype(np.float32) + 2)


@triton.jit
def long_row_kernel(out_ptr, x_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + at, e / tl.sum(e, 0))


@pytest.mark.parametrize("columns", [65000, 65535])
def test_rows_of_16_bits_that_fill_the_registers(device, columns):
    x = random((2, columns), "fp16", seed=41)
    out = device.output((2, columns), "fp32")
    long_row_kernel[(2,)](out.array, device.to(x), columns, num_warps=16)
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), e / e.sum(1, keepdims=True), rtol=2e-5, atol=1e-9)
