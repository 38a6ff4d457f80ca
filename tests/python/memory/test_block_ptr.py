"""Block pointers: windows of arrays, their movement, what lies outside, and their types."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, check_gemm, random


@triton.jit
def copy_kernel(
    x_ptr,
    y_ptr,
    M,
    N,
    sxm,
    sxn,
    sym,
    syn,
    om,
    on,
    BM: tl.constexpr,
    BN: tl.constexpr,
    PAD: tl.constexpr,
):
    x = tl.make_block_ptr(x_ptr, (M, N), (sxm, sxn), (om, on), (BM, BN), (1, 0))
    y = tl.make_block_ptr(y_ptr, (BM, BN), (sym, syn), (0, 0), (BM, BN), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1), padding_option=PAD))


def window(x, om, on, bm, bn, outside):
    """The block of `x` at an offset; `outside` where it leaves the array."""
    result = np.full((bm, bn), outside, x.dtype)
    for i in range(bm):
        for j in range(bn):
            if 0 <= om + i < x.shape[0] and 0 <= on + j < x.shape[1]:
                result[i, j] = x[om + i, on + j]
    return result


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "bf16", "i8", "i64", "fp8e5"])
@pytest.mark.parametrize("offset", [(0, 0), (40, 25), (-7, -3), (60, 90)])
def test_window(device, dtype, offset):
    """A window at any offset holds the array, and zeros outside."""
    x = random((50, 37), "fp32" if dtype.startswith("fp8") else dtype).astype(DTYPES[dtype])
    out = device.output((32, 16), dtype)
    array = device.to(x)
    copy_kernel[(1,)](
        array,
        out.array,
        50,
        37,
        *device.strides(array),
        *device.strides(out.array),
        *offset,
        32,
        16,
        "zero",
    )
    expected = window(x, *offset, 32, 16, 0)
    np.testing.assert_array_equal(out.numpy().view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("padding,outside", [("", 0.0), ("zero", 0.0), ("nan", np.nan)])
def test_padding(device, padding, outside):
    """What lies outside is what the padding option says."""
    x = random((13, 21), "fp32", seed=3)
    out = device.output((16, 32), "fp32")
    copy_kernel[(1,)](device.to(x), out.array, 13, 21, 21, 1, 32, 1, 2, 5, 16, 32, padding)
    np.testing.assert_array_equal(out.numpy(), window(x, 2, 5, 16, 32, outside))


def test_transposed_strides(device):
    """A block pointer with exchanged strides reads the transposed array."""
    x = random((40, 30), "fp32", seed=4)
    out = device.output((16, 32), "fp32")
    copy_kernel[(1,)](device.to(x), out.array, 30, 40, 1, 30, 32, 1, 16, 16, 16, 32, "zero")
    np.testing.assert_array_equal(out.numpy(), window(x.T, 16, 16, 16, 32, 0))


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    a = tl.make_block_ptr(
        base=a_ptr,
        shape=(M, K),
        strides=(sam, sak),
        offsets=(pm * BM, 0),
        block_shape=(BM, BK),
        order=(1, 0),
    )
    b = tl.make_block_ptr(
        base=b_ptr,
        shape=(K, N),
        strides=(sbk, sbn),
        offsets=(0, pn * BN),
        block_shape=(BK, BN),
        order=(1, 0),
    )
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(
            tl.load(a, boundary_check=(0, 1), padding_option="zero"),
            tl.load(b, boundary_check=(0, 1), padding_option="zero"),
        )
        a = tl.advance(a, (0, BK))
        b = b.advance([BK, 0])
    c = tl.make_block_ptr(c_ptr, (M, N), (scm, scn), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(c, acc.to(c.dtype.element_ty), boundary_check=(0, 1))


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(128, 128, 128), (100, 72, 88), (33, 65, 17)])
def test_gemm_over_block_pointers(device, shape, num_warps):
    """A GEMM over block pointers agrees with float64."""
    m, n, k = shape
    a, b = random((m, k), "fp16", seed=1), random((k, n), "fp16", seed=2)
    out = device.output((m, n), "fp32")
    da, db = device.to(a), device.to(b)
    matmul_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
        da, db, out.array, m, n, k, *device.strides(da), *device.strides(db), *device.strides(out.array),
        64, 64, 32, num_warps=num_warps,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b)


@triton.jit
def walk_kernel(x_ptr, y_ptr, n, backwards, B: tl.constexpr):
    """Sums an array by blocks in a `while`, from either end."""
    if backwards != 0:
        p = tl.make_block_ptr(x_ptr, (n,), (1,), ((n - 1) // B * B,), (B,), (0,))
        step = -B
    else:
        p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (B,), (0,))
        step = B
    total = tl.zeros((B,), tl.float32)
    left = n
    while left > 0:
        total += tl.load(p, boundary_check=(0,))
        p = tl.advance(p, (step,))
        left -= B
    tl.store(y_ptr + tl.arange(0, B), total)


@pytest.mark.parametrize("backwards", [0, 1])
def test_walk(device, backwards):
    """A block pointer moves forwards and backwards."""
    x = random(1000, "fp32", seed=5)
    out = device.output(64, "fp32")
    walk_kernel[(1,)](device.to(x), out.array, 1000, backwards, 64)
    expected = np.pad(x.astype(np.float64), (0, 24)).reshape(-1, 64).sum(axis=0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)


@triton.jit
def rows(ptr, count, length, row, B: tl.constexpr):
    return tl.make_block_ptr(ptr, (count, length), (length, 1), (row, 0), (1, B), (1, 0))


@triton.jit
def scale(p, factor):
    tl.store(
        p,
        (tl.load(p, boundary_check=(1,)) * factor).to(p.type.element_ty.element_ty),
        boundary_check=(1,),
    )


@triton.jit
def through_functions_kernel(x_ptr, count, length, B: tl.constexpr):
    p = rows(x_ptr, count, length, tl.program_id(0), B)
    scale(p, 3)


def test_through_functions(device):
    x = random((5, 50), "fp16", seed=6)
    array = device.to(x.copy())
    through_functions_kernel[(5,)](array, 5, 50, 64)
    np.testing.assert_array_equal(device.numpy(array), x * np.float16(3))


@triton.jit
def cube_kernel(x_ptr, y_ptr, A, B, C, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (A, B, C), (B * C, C, 1), (1, 2, 3), (BA, BB, BC), (2, 1, 0))
    y = tl.make_block_ptr(y_ptr, (BA, BB, BC), (BB * BC, BC, 1), (0, 0, 0), (BA, BB, BC), (2, 1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 2)))


def test_rank_three(device):
    x = random((4, 8, 10), "i32", seed=7)
    out = device.output((4, 4, 8), "i32")
    cube_kernel[(1,)](device.to(x), out.array, 4, 8, 10, 4, 4, 8)
    expected = np.zeros((4, 4, 8), np.int32)
    expected[:3, :, :7] = x[1:, 2:6, 3:]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def wide_kernel(x_ptr, y_ptr, stride, row, back, B: tl.constexpr):
    # The base lies `row * stride - back` elements before the array: only 64-bit products reach it.
    base = x_ptr - row.to(tl.int64) * stride + back
    p = tl.make_block_ptr(base, (1 << 30, B), (stride, 1), (row, 0), (1, B), (1, 0))
    q = tl.make_block_ptr(y_ptr, (1, B), (B, 1), (0, 0), (1, B), (1, 0))
    tl.store(q, tl.load(p))


def test_addresses_have_64_bits(device):
    x = random(96, "fp32", seed=8)
    out = device.output(32, "fp32")
    wide_kernel[(1,)](device.to(x), out.array, 1 << 20, 5000, 64, 32)
    np.testing.assert_array_equal(out.numpy(), x[64:])


@triton.jit
def types_kernel(x_ptr, y_ptr):
    p = tl.make_block_ptr(x_ptr, (8, 8), (8, 1), (0, 0), (4, 8), (1, 0))
    tl.static_assert(p.type.is_ptr() and not p.type.is_block())
    tl.static_assert(p.type.element_ty.is_block())
    tl.static_assert(p.dtype.element_ty.element_ty == tl.float16)
    tl.static_assert(p.type.element_ty.shape[0] == 4 and p.type.element_ty.shape[1] == 8)
    tl.static_assert(isinstance(p, tl.tensor))
    tl.store(y_ptr, tl.sum(tl.load(p).to(tl.float32)))


def test_types(device):
    """Block pointers of several shapes pass through branches and calls."""
    x = random((8, 8), "fp16", seed=9)
    out = device.output(1, "fp32")
    types_kernel[(1,)](device.to(x), out.array)
    np.testing.assert_allclose(out.numpy()[0], x[:4].astype(np.float64).sum(), rtol=1e-3, atol=1e-2)
