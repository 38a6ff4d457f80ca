"""Left operands of 8 bits that a kernel computes: lanes exchange what another dot left in registers.
Products in a loop or outside, read by one dot, by two or by a store too; against NumPy in float64."""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def chained_kernel(
    a_ptr, b_ptr, c_ptr, d_ptr, p_ptr, out_ptr, also_ptr, steps, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, D: tl.constexpr, TWICE: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Sums over steps of q (a b') c and q (a b') d, where q rounds to the type of a; b, c and d have K,
    N and N contiguous, as wgmma wants them."""
    m, n, k, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, D)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    wide: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    acc, also = tl.zeros((M, D), wide), tl.zeros((M, D), wide)
    for step in range(steps):
        b = tl.load(b_ptr + step * N * K + k[:, None] + n[None, :] * K)
        p = tl.dot(a, b, out_dtype=wide)
        if wide == tl.int32:
            p = (p >> 9).to(tl.int8)
        else:
            p = p.to(a.dtype)
        at = step * N * D + n[:, None] + d[None, :] * N
        acc = tl.dot(p, tl.load(c_ptr + at), acc, out_dtype=wide)
        if TWICE:
            also = tl.dot(p, tl.load(d_ptr + at), also, out_dtype=wide)
        if KEEP:
            tl.store(p_ptr + step * M * N + m[:, None] * N + n[None, :], p)
    there = m[:, None] * D + d[None, :]
    tl.store(out_ptr + there, acc)
    if TWICE:
        tl.store(also_ptr + there, also)


@triton.jit
def turned_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    """q (a b')' c, where the product is transposed before it is an operand; c has M contiguous."""
    m, n, k, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, D)
    wide: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    p = tl.dot(a, tl.load(b_ptr + k[:, None] + n[None, :] * K), out_dtype=wide)
    if wide == tl.int32:
        p = (p >> 9).to(tl.int8)
    else:
        p = p.to(a.dtype)
    c = tl.load(c_ptr + m[:, None] + d[None, :] * M)
    out = tl.dot(tl.trans(p), c, out_dtype=wide)
    tl.store(out_ptr + n[:, None] * D + d[None, :], out)


def draw(shape, dtype, seed):
    """Numbers whose products have no more than a few bits."""
    if dtype == "i8":
        return random(shape, "i8", seed, low=-128, high=128)
    whole = np.random.default_rng(seed).integers(-2, 3, shape)
    return whole.astype({"fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2}[dtype])


@pytest.mark.parametrize(
    "twice, keep", [(False, False), (True, False), (False, True), (True, True)]
)
@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv", "fp8e5"])
@pytest.mark.parametrize(
    "tile, warps",
    [((64, 64, 64, 64), 4), ((128, 128, 64, 64), 8), ((64, 32, 32, 128), 4), ((128, 64, 64, 64), 4),
     ((64, 64, 64, 64), 8), ((192, 96, 64, 64), 12)],
)  # fmt: skip
def test_chained(device, tile, warps, dtype, twice, keep):
    """Each element of both sums, and of the rounded products."""
    (m, n, k, d), steps, wide = tile, 3, "i32" if dtype == "i8" else "fp32"
    a, b = draw((m, k), dtype, 1), draw((steps, n, k), dtype, 2)
    c, e = draw((steps, d, n), dtype, 3), draw((steps, d, n), dtype, 4)
    p, out, also = (
        device.output(s, t) for s, t in (((steps, m, n), dtype), ((m, d), wide), ((m, d), wide))
    )
    chained_kernel[(1,)](
        *map(device.to, (a, b, c, e)), p.array, out.array, also.array, steps, M=m, N=n, K=k, D=d,
        TWICE=twice, KEEP=keep, num_warps=warps, num_stages=2,
    )  # fmt: skip
    number = np.int64 if dtype == "i8" else np.float64
    products = a.astype(number) @ b.astype(number).swapaxes(1, 2)
    rounded = ((products >> 9) if dtype == "i8" else products).astype(a.dtype)
    if keep:
        np.testing.assert_array_equal(p.numpy().astype(number), rounded.astype(number))
    for result, right in ((out, c), (also, e))[: 1 + twice]:
        exact = (rounded.astype(number) @ right.astype(number).swapaxes(1, 2)).sum(0)
        bound = 0 if dtype == "i8" else 2.0**-10 * np.abs(exact).max()
        np.testing.assert_allclose(result.numpy(), exact, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv"])
@pytest.mark.parametrize("m, n, warps", [(64, 128, 4), (128, 64, 4), (64, 64, 4), (128, 128, 8)])
def test_turned(device, m, n, warps, dtype):
    """A transposed product, whose columns are another's K, is no operand in registers."""
    k, d, wide = 32, 64, "i32" if dtype == "i8" else "fp32"
    a, b, c = draw((m, k), dtype, 1), draw((n, k), dtype, 2), draw((d, m), dtype, 3)
    out = device.output((n, d), wide)
    turned_kernel[(1,)](*map(device.to, (a, b, c)), out.array, M=m, N=n, K=k, D=d, num_warps=warps)
    number = np.int64 if dtype == "i8" else np.float64
    products = a.astype(number) @ b.astype(number).T
    rounded = ((products >> 9) if dtype == "i8" else products).astype(a.dtype)
    exact = rounded.astype(number).T @ c.astype(number).T
    bound = 0 if dtype == "i8" else 2.0**-10 * np.abs(exact).max()
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=bound)
