"""Vectors that the end of a mask cuts: whole ones are one access, elements of the others are single.

Bounds that are no multiple of a vector, in one and two dimensions, in every spelling of a comparison,
with values for what is masked off. What lies behind the bound is outside of the arrays, or has to
stay as it was.
"""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from conftest import random

BLOCK = 512
BOUNDS = [1, 2, 3, 5, 7, 510, 511, 513, 999, 1023, 1026, 2047]
DTYPES = ["i8", "fp16", "fp32", "fp64"]


def tile_of(shape, dtype):
    if dtype == "i8":
        return np.random.default_rng().integers(-128, 128, shape).astype("int8")
    return random(shape, dtype)


@pantile.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, SPELLING: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if SPELLING == "less":
        mask = at < n
    elif SPELLING == "greater":
        mask = n > at
    elif SPELLING == "at most":
        mask = at <= n - 1
    elif SPELLING == "unsigned":
        mask = at.to(tl.uint32) < n.to(tl.uint32)
    elif SPELLING == "both":
        mask = (at < n) & (at + 1 < n + 1)
    else:
        mask = (at < n) & (at % 3 != 1)
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, x, mask=mask)


@pytest.mark.parametrize("spelling", ["less", "greater", "at most", "unsigned", "both", "holes"])
@pytest.mark.parametrize("n", BOUNDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_up_to_a_bound(device, dtype, n, spelling):
    x = tile_of((n,), dtype)
    y = device.output((n,), dtype)
    before = y.numpy().copy()
    copy_kernel[(pantile.cdiv(n, BLOCK),)](device.to(x), y.array, n, BLOCK=BLOCK, SPELLING=spelling)
    kept = (np.arange(n) % 3 != 1) | (spelling != "holes")
    np.testing.assert_array_equal(y.numpy()[kept], x[kept])
    np.testing.assert_array_equal(y.numpy()[~kept], before[~kept])


@pantile.jit
def sum_kernel(x_ptr, z_ptr, y_ptr, n, BLOCK: tl.constexpr, OTHERS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    if OTHERS:
        x = tl.load(x_ptr + at, mask=mask, other=at.to(x_ptr.dtype.element_ty))
    else:
        x = tl.load(x_ptr + at, mask=mask, other=3.0, eviction_policy="evict_first")
    z = tl.load(z_ptr + at, mask=mask, other=0.0, cache_modifier=".cg")
    tl.store(y_ptr + at, x + z)


@pytest.mark.parametrize("block", [384, 512, 1024])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("n", [1, 6, 381, 510, 1001])
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_values_for_what_is_masked_off(device, dtype, n, others, warps, block):
    x, z = random((n,), dtype), random((n,), dtype)
    programs = pantile.cdiv(n, block)
    y = device.output((programs * block,), dtype)
    sum_kernel[(programs,)](
        device.to(x), device.to(z), y.array, n, BLOCK=block, OTHERS=others, num_warps=warps
    )
    at = np.arange(y.size)
    want = (at if others else np.full(y.size, 3.0)).astype(x.dtype)
    want[:n] = x + z
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-3, atol=1e-3)


@pantile.jit
def rows_kernel(x_ptr, y_ptr, rows, columns, stride, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    column = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    mask = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * stride + column, mask=mask, other=0.0)
    tl.store(y_ptr + row * stride + column, x * 2, mask=mask)


@pytest.mark.parametrize("rows, columns", [(1, 1), (5, 67), (16, 63), (33, 130)])
@pytest.mark.parametrize("pad", [16, 13])
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_columns_of_padded_rows(device, dtype, pad, rows, columns):
    stride = pantile.cdiv(columns, pad) * pad
    x = random((rows, stride), dtype)
    y = device.output((rows, stride), dtype)
    before = y.numpy().copy()
    grid = (pantile.cdiv(rows, 16), pantile.cdiv(columns, 64))
    rows_kernel[grid](device.to(x), y.array, rows, columns, stride, R=16, C=64)
    np.testing.assert_array_equal(y.numpy()[:, :columns], x[:, :columns] * 2)
    np.testing.assert_array_equal(y.numpy()[:, columns:], before[:, columns:])


@pantile.jit
def in_place_kernel(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        total += x
        tl.store(x_ptr + at, -x, mask=at < n)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        total += x * x
    tl.store(sums_ptr, tl.sum(total, 0))
    tl.atomic_add(x_ptr + tl.arange(0, BLOCK), 1.0, mask=tl.arange(0, BLOCK) < n)


@pytest.mark.parametrize("n", [1, 3, 510, 513, 1999])
def test_in_place_in_a_loop(device, n):
    x = random((n,), "fp32")
    held, total = device.to(x.copy()), device.output((1,), "fp32")
    in_place_kernel[(1,)](held, total.array, n, BLOCK=BLOCK)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(total.numpy()[0], (wide + wide**2).sum(), rtol=1e-4, atol=1e-3)
    want = -x
    want[:BLOCK] += 1
    np.testing.assert_allclose(device.numpy(held), want, rtol=1e-6, atol=1e-6)


@pantile.jit
def product_kernel(a_ptr, b_ptr, c_ptr, m, n, k, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):  # fmt: skip
    row, column, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        at = start + depth
        a = tl.load(a_ptr + row * stride + at[None, :], mask=(row < m) & (at[None, :] < k), other=0.0)  # fmt: skip
        b = tl.load(b_ptr + column * stride + at[:, None], mask=(column < n) & (at[:, None] < k), other=0.0)  # fmt: skip
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + row * n + column, sums, mask=(row < m) & (column < n))


@pytest.mark.parametrize("m, n, k", [(64, 64, 33), (37, 61, 95), (64, 7, 130), (5, 64, 1)])
@pytest.mark.parametrize("stages", [1, 3])
def test_dots_of_padded_rows(device, stages, m, n, k):
    stride = pantile.cdiv(k, 16) * 16 + 16
    a, b = random((m, stride), "fp16"), random((n, stride), "fp16")
    c = device.output((m, n), "fp32")
    product_kernel[(1,)](
        device.to(a), device.to(b), c.array, m, n, k, stride, M=64, N=64, K=32, num_stages=stages
    )
    want = a[:, :k].astype(np.float64) @ b[:, :k].astype(np.float64).T
    np.testing.assert_allclose(c.numpy(), want, rtol=2e-3, atol=2e-2)


@pantile.jit
def nested_conditions_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    for level in tl.static_range(40):
        mask = (mask & (at < n + level)) & (mask & (at >= -level))
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask, other=0), mask=mask)


@pytest.mark.parametrize("n", [1, 511, 1023])
def test_conditions_that_share_parts_level_by_level(device, n):
    """A mask of 40 levels, each of which uses the last one twice, is looked at in linear time."""
    x = random(n, "fp32")
    y = device.output(n, "fp32")
    nested_conditions_kernel[(2,)](device.to(x), y.array, n, BLOCK=BLOCK)
    np.testing.assert_array_equal(y.numpy(), x)
