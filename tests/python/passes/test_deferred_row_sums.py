"""Running sums of a dot's rows or columns, scaled or not, which threads combine after the
loop: any number of iterations, one loop after another, rows that one warp or several hold."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def add_up(total, level, x, y_ptrs, begin, end, AXIS: tl.constexpr, SCALED: tl.constexpr):
    for i in range(begin, end):
        product = tl.dot(x, tl.load(y_ptrs + i * 64 * 64))
        now = tl.maximum(level, tl.max(product, axis=AXIS))
        if SCALED:
            total = total * tl.exp2(level - now)
        total += tl.sum(tl.exp2(product - tl.expand_dims(now, AXIS)), axis=AXIS)
        level = now
    return total, level


@triton.jit
def sums_kernel(
    x_ptr, y_ptr, total_ptr, level_ptr, middle, end, start_ptr,
    ROWS: tl.constexpr, AXIS: tl.constexpr, SCALED: tl.constexpr, STARTED: tl.constexpr,
):  # fmt: skip
    """Sums over AXIS of 2 ** (x y[i] - level) for i up to `end`, in two loops that part at `middle`."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, 64)
    x = tl.load(x_ptr + rows[:, None] * 64 + columns[None, :])
    y_ptrs = y_ptr + columns[:, None] * 64 + columns[None, :]
    KEPT: tl.constexpr = ROWS if AXIS == 1 else 64
    kept = tl.arange(0, KEPT)
    total = tl.load(start_ptr + kept) if STARTED else tl.zeros((KEPT,), tl.float32)
    level = tl.full((KEPT,), -20.0, tl.float32)
    total, level = add_up(total, level, x, y_ptrs, 0, middle, AXIS, SCALED)
    total, level = add_up(total, level, x, y_ptrs, middle, end, AXIS, SCALED)
    tl.store(total_ptr + kept, total)
    tl.store(level_ptr + kept, level)


@triton.jit
def add_two(one, two, x, y_ptrs, begin, end, FIRST: tl.constexpr):
    for i in range(begin, end):
        product = tl.dot(x, tl.load(y_ptrs + i * 64 * 64))
        if FIRST:
            one = one * 0.5 + tl.sum(product, 1)
            two += tl.sum(product * product, 1)
        else:
            two += tl.sum(product * product, 1)
            one = one * 0.5 + tl.sum(product, 1)
    return one, two


@triton.jit
def two_sums_kernel(x_ptr, y_ptr, one_ptr, two_ptr, middle, end, FIRST: tl.constexpr):
    """Two running sums at once, in two consecutive loops."""
    rows = tl.arange(0, 64)
    at = rows[:, None] * 64 + rows[None, :]
    x = tl.load(x_ptr + at)
    one, two = tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32)
    one, two = add_two(one, two, x, y_ptr + at, 0, middle, True)
    one, two = add_two(one, two, x, y_ptr + at, middle, end, FIRST)
    tl.store(one_ptr + rows, one)
    tl.store(two_ptr + rows, two)


@pytest.mark.parametrize("middle,end", [(0, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("first", [True, False])
def test_two_sums(device, first, middle, end):
    x, y = random((64, 64), "fp16"), random((5, 64, 64), "fp16")
    one, two = device.output((64,), "fp32"), device.output((64,), "fp32")
    two_sums_kernel[(1,)](
        device.to(x), device.to(y), one.array, two.array, middle, end, FIRST=first
    )
    products = x.astype(np.float64) @ y[:end].astype(np.float64)
    exact = sum(p.sum(axis=1) * 0.5 ** (end - 1 - i) for i, p in enumerate(products))
    np.testing.assert_allclose(one.numpy(), exact, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(two.numpy(), (products**2).sum(axis=(0, 2)), rtol=1e-4)


@pytest.mark.parametrize("middle,end", [(0, 0), (0, 3), (2, 2), (1, 5)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rows,warps", [(64, 4), (32, 2), (128, 8), (16, 4), (32, 1)])
@pytest.mark.parametrize("scaled,started", [(True, False), (False, False), (True, True)])
def test_sums(device, rows, warps, axis, scaled, started, middle, end):
    """Running sums that threads combine after the loop agree with float64."""
    x, y = random((rows, 64), "fp16") / 4, random((6, 64, 64), "fp16") / 4
    kept = (64, rows)[axis]
    start = np.abs(random((kept,), "fp32"))
    total, level = device.output((kept,), "fp32"), device.output((kept,), "fp32")
    sums_kernel[(1,)](
        device.to(x), device.to(y), total.array, level.array, middle, end, device.to(start),
        ROWS=rows, AXIS=axis, SCALED=scaled, STARTED=started, num_warps=warps,
    )  # fmt: skip
    exact_level = np.full(kept, -20.0)
    exact = start.astype(np.float64) if started else np.zeros(kept)
    for i in range(end):
        product = x.astype(np.float64) @ y[i].astype(np.float64)
        now = np.maximum(exact_level, product.max(axis=axis))
        if scaled:
            exact *= np.exp2(exact_level - now)
        exact += np.exp2(product - np.expand_dims(now, axis)).sum(axis=axis)
        exact_level = now
    np.testing.assert_allclose(level.numpy(), exact_level, rtol=0, atol=1e-4)
    np.testing.assert_allclose(total.numpy(), exact, rtol=1e-3, atol=1e-6)
