"""Accesses of a thread at constant distances: strides, directions, masks and indices that wrap around.

What is masked off lies outside the arrays.
"""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from conftest import random

BLOCK = 256


@pantile.jit
def inside(at, low, high, MASK: tl.constexpr):
    if MASK == "before":
        return at < high
    elif MASK == "after":
        return at >= low
    elif MASK == "between":
        return (at >= low) & (at < high)
    elif MASK == "other":
        return (at ^ 1) < high
    else:
        return at >= 0


@pantile.jit
def walk_kernel(x_ptr, y_ptr, n, low, high, STEP: tl.constexpr, SHIFT: tl.constexpr, MASK: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = inside(at, low, high, MASK)
        x = tl.load(x_ptr + at * STEP + SHIFT, mask=mask, other=-1.0)
        tl.store(y_ptr + at, x * 2, mask=at < n)


@pantile.jit
def tile_kernel(x_ptr, y_ptr, rows, columns, stride, WIDTH: tl.constexpr, LOOPS: tl.constexpr):
    for i in range(LOOPS):
        row = tl.arange(0, 32) + i * 32
        column = tl.arange(0, 64)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        from_known = tl.load(x_ptr + row[:, None] * WIDTH + column[None, :], mask=mask, other=3.0)
        from_told = tl.load(x_ptr + row[:, None] * stride + column[None, :], mask=mask, other=4.0)
        tl.store(y_ptr + row[:, None] * 64 + column[None, :], from_known * 8 + from_told)


@pantile.jit
def wrapped_kernel(x_ptr, y_ptr, n, period, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at % period, mask=at < n)
        tl.store(y_ptr + (n - 1 - at), x, mask=at < n)


@pantile.jit
def narrow_kernel(x_ptr, y_ptr, n, begin, T: tl.constexpr, STEP: tl.constexpr, CAST_LATE: tl.constexpr, MASKS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    for start in range(0, n, BLOCK):
        if CAST_LATE:
            at = (start + begin + tl.arange(0, BLOCK) * STEP).to(T)
        else:
            at = tl.arange(0, BLOCK).to(T) * STEP + (start + begin).to(T)
        to = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=to < n) if MASKS else tl.load(x_ptr + at)
        tl.store(y_ptr + to, x, mask=to < n)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("mask", ["before", "after", "between", "other", "all"])
@pytest.mark.parametrize("step", [1, 3, -1, -3])
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_strides_and_masks(device, dtype, step, mask, warps):
    n, low, high = 5 * BLOCK, 1, 4 * BLOCK + 77
    if mask == "other":
        high += 1  # a pair of elements is on one side
    at = np.arange(n)
    here = {
        "before": at < high,
        "after": at >= low,
        "between": (at >= low) & (at < high),
        "other": (at ^ 1) < high,
        "all": at >= 0,
    }[mask]
    shift = -min(0, step * at[here].max())
    places = at[here] * step + shift
    x = random((places.max() + 1,), dtype)
    y = device.output((n,), dtype)
    walk_kernel[(1,)](
        device.to(x), y.array, n, low, high, STEP=step, SHIFT=shift, MASK=mask, BLOCK=BLOCK, num_warps=warps
    )  # fmt: skip
    expected = np.full(n, -2.0)
    expected[here] = x[places].astype(np.float64) * 2
    np.testing.assert_array_equal(y.numpy().astype(np.float64), expected)


@pytest.mark.parametrize("rows, columns, width, loops", [(64, 64, 64, 2), (41, 63, 63, 2), (17, 33, 65, 1)])  # fmt: skip
def test_tiles_with_known_and_told_strides(device, rows, columns, width, loops):
    x = random((rows, width), "fp32")
    y = device.output((32 * loops, 64), "fp32")
    tile_kernel[(1,)](device.to(x), y.array, rows, columns, width, WIDTH=width, LOOPS=loops)
    expected = np.full((32 * loops, 64), 28.0)
    part = x[: 32 * loops, :columns].astype(np.float32)
    expected[: part.shape[0], :columns] = part * np.float32(8) + part
    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-7)


@pytest.mark.parametrize("n, period", [(1000, 77), (700, 256), (513, 1000)])
def test_indices_that_wrap_around_have_pointers_of_their_own(device, n, period):
    x = random((period,), "fp32")
    y = device.output((n,), "fp32")
    wrapped_kernel[(1,)](device.to(x), y.array, n, period, BLOCK=BLOCK)
    np.testing.assert_array_equal(y.numpy()[::-1], x[np.arange(n) % period])


@pytest.mark.parametrize("dtype, begin", [("uint8", 200), ("int8", 100), ("uint16", 65300), ("int16", 32600), ("uint32", 2)])  # fmt: skip
@pytest.mark.parametrize("casts_late", [0, 1])
@pytest.mark.parametrize("masks", [0, 1])
@pytest.mark.parametrize("step", [1, 3])
def test_indices_of_a_narrow_type_wrap_around(device, dtype, begin, casts_late, masks, step):
    n = 4 * BLOCK
    to = np.arange(n)
    at = begin + to // BLOCK * BLOCK + to % BLOCK * step
    at = at.astype(dtype).astype(np.int64)
    first = min(at.min(), 0)
    x = random((at.max() - first + 1,), "fp32")
    y = device.output((n,), "fp32")
    values = device.to(x)
    narrow_kernel[(1,)](
        values[-first:] if first else values, y.array, n, begin, T=getattr(tl, dtype), STEP=step,
        CAST_LATE=casts_late, MASKS=masks, BLOCK=BLOCK,
    )  # fmt: skip
    np.testing.assert_array_equal(y.numpy(), x[at - first])
