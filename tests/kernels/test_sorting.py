"""Sorting: rows in one tile, stable argsort by packing, arrays of many blocks, radix sort, unique.

Arrays longer than a tile are sorted by Batcher's bitonic network over global memory, a launch for
each step that reaches beyond a block. Keys are compared bit for bit with NumPy's sort.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def sort_rows_kernel(
    x_ptr, out_ptr, rows, cols, LAST: tl.constexpr, DESCENDING: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """Lanes past a row hold LAST, which sorts after every key."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)[None, :]
    mask = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=mask, other=LAST)
    tl.store(out_ptr + r * cols + c, tl.sort(x, descending=DESCENDING), mask=mask)


@triton.jit
def argsort_kernel(keys_ptr, values_ptr, key_out_ptr, order_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Stable: equal keys are told apart by their places in the low bits."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    key = tl.load(keys_ptr + row * n + i, mask=i < n, other=2147483647)
    packed = tl.sort((key.to(tl.int64) << 16) | i)
    order = (packed & 0xFFFF).to(tl.int32)
    tl.store(order_ptr + row * n + i, order, mask=i < n)
    tl.store(key_out_ptr + row * n + i, (packed >> 16).to(tl.int32), mask=i < n)
    v = tl.load(values_ptr + row * n + i, mask=i < n)
    tl.store(out_ptr + row * n + i, tl.gather(v, order, 0), mask=i < n)


@triton.jit
def sort_blocks_kernel(x_ptr, BLOCK: tl.constexpr):
    """Neighbouring blocks in opposite directions: bitonic sequences of two blocks."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if tl.program_id(0) % 2 == 0:
        x = tl.sort(x)
    else:
        x = tl.sort(x, descending=True)
    tl.store(x_ptr + at, x)


@triton.jit
def far_step_kernel(x_ptr, run, distance, BLOCK: tl.constexpr):
    """Compares elements `distance` apart; runs of `run` elements go up and down in turn."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    low = i // distance * (2 * distance) + i % distance
    a, b = tl.load(x_ptr + low), tl.load(x_ptr + low + distance)
    up = (low // run) % 2 == 0
    exchange = (a > b) == up
    tl.store(x_ptr + low, tl.where(exchange, b, a))
    tl.store(x_ptr + low + distance, tl.where(exchange, a, b))


@triton.jit
def merge_blocks_kernel(x_ptr, run, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if (tl.program_id(0) * BLOCK // run) % 2 == 0:
        x = tl.bitonic_merge(x)
    else:
        x = tl.bitonic_merge(x, descending=True)
    tl.store(x_ptr + at, x)


@triton.jit
def digit_counts_kernel(key_ptr, count_ptr, n, shift, RADIX: tl.constexpr, BLOCK: tl.constexpr):
    """Counts in the order (digit, block), whose prefix sums are where each block writes."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    digit = (tl.load(key_ptr + at, mask=at < n, other=0) >> shift) & (RADIX - 1)
    count = tl.histogram(digit.to(tl.int32), RADIX, mask=at < n)
    tl.store(count_ptr + tl.arange(0, RADIX) * tl.num_programs(0) + block, count)


@triton.jit
def digit_scatter_kernel(
    key_ptr, value_ptr, key_out_ptr, value_out_ptr, start_ptr, n, shift,
    RADIX: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    key = tl.load(key_ptr + at, mask=mask, other=0)
    digit = ((key >> shift) & (RADIX - 1)).to(tl.int32)
    mine = (digit[:, None] == tl.arange(0, RADIX)[None, :]) & mask[:, None]
    before = tl.cumsum(mine.to(tl.int32), axis=0) - 1
    rank = tl.sum(tl.where(mine, before, 0), axis=1)
    to = tl.load(start_ptr + digit * tl.num_programs(0) + block, mask=mask, other=0) + rank
    tl.store(key_out_ptr + to, key, mask=mask)
    tl.store(value_out_ptr + to, tl.load(value_ptr + at, mask=mask), mask=mask)


@triton.jit
def exclusive_sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    carry = tl.full([], 0, tl.int32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0)
        tl.store(out_ptr + at, carry + tl.cumsum(x, 0) - x, mask=at < n)
        carry += tl.sum(x, 0)


@triton.jit
def unique_kernel(x_ptr, out_ptr, count_ptr, inverse_ptr, n, BLOCK: tl.constexpr):
    """Distinct keys in order, their number, and for each place its key's rank."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=32767).to(tl.int32)
    packed = tl.sort(x * BLOCK + i)
    place = packed & (BLOCK - 1)
    key = (packed - place) // BLOCK
    before = tl.gather(key, tl.maximum(i - 1, 0), 0)
    first = ((i == 0) | (key != before)) & (i < n)
    rank = tl.cumsum(first.to(tl.int32), 0) - 1
    tl.store(out_ptr + rank, key, mask=first)
    tl.store(inverse_ptr + place, rank, mask=i < n)
    tl.store(count_ptr, tl.sum(first.to(tl.int32), 0))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "dtype, rows, cols, row_block", [("fp32", 13, 100, 4), ("i32", 5, 256, 1), ("fp16", 33, 7, 32), ("i64", 6, 33, 2)]
)  # fmt: skip
def test_rows_of_a_tile(device, dtype, rows, cols, row_block, descending):
    """Rows of a tile are sorted in both directions."""
    x = random((rows, cols), dtype, 1)
    last = float("inf") if x.dtype.kind == "f" else 10**6
    out = device.output(x.shape, dtype)
    sort_rows_kernel[(triton.cdiv(rows, row_block),)](
        device.to(x), out.array, rows, cols, LAST=-last if descending else last,
        DESCENDING=descending, ROWS=row_block, COLS=triton.next_power_of_2(cols),
    )  # fmt: skip
    expected = np.sort(x, axis=1)
    np.testing.assert_array_equal(out.numpy(), expected[:, ::-1] if descending else expected)


@pytest.mark.parametrize("n, warps", [(300, 4), (64, 1), (500, 8)])
def test_stable_argsort(device, n, warps):
    keys, values = random((4, n), "i32", 2, low=-20, high=20), random((4, n), "fp32", 3)
    sorted_keys, out = device.output((4, n), "i32"), device.output((4, n), "fp32")
    order = device.output((4, n), "i32")
    argsort_kernel[(4,)](
        device.to(keys), device.to(values), sorted_keys.array, order.array, out.array, n,
        BLOCK=triton.next_power_of_2(n), num_warps=warps,
    )  # fmt: skip
    expected = np.argsort(keys, axis=1, kind="stable")
    np.testing.assert_array_equal(order.numpy(), expected)
    np.testing.assert_array_equal(sorted_keys.numpy(), np.take_along_axis(keys, expected, 1))
    np.testing.assert_array_equal(out.numpy(), np.take_along_axis(values, expected, 1))


@pytest.mark.parametrize("n, block", [(2048, 256), (1024, 64)])
def test_many_blocks(device, n, block):
    x = random(n, "fp32", 4)
    data, run = device.to(x.copy()), 2 * block
    sort_blocks_kernel[(n // block,)](data, BLOCK=block)
    while run <= n:
        distance = run // 2
        while distance >= block:
            far_step_kernel[(n // 2 // block,)](data, run, distance, BLOCK=block)
            distance //= 2
        merge_blocks_kernel[(n // block,)](data, run, BLOCK=block)
        run *= 2
    np.testing.assert_array_equal(device.numpy(data), np.sort(x))


@pytest.mark.parametrize("n", [1000, 129])
def test_radix_sort(device, n):
    x, values = random(n, "u32", 5, low=0, high=2**32), np.arange(n, dtype=np.int32)
    block, radix = 128, 16
    blocks = triton.cdiv(n, block)
    keys, places = device.to(x.view(np.int32)), device.to(values)
    for shift in range(0, 32, 4):
        counts, starts = (device.output((radix, blocks), "i32") for _ in range(2))
        next_keys, next_places = (device.output(n, "i32") for _ in range(2))
        digit_counts_kernel[(blocks,)](keys, counts.array, n, shift, RADIX=radix, BLOCK=block)
        exclusive_sum_kernel[(1,)](counts.array, starts.array, radix * blocks, BLOCK=64)
        digit_scatter_kernel[(blocks,)](
            keys, places, next_keys.array, next_places.array, starts.array, n, shift,
            RADIX=radix, BLOCK=block,
        )  # fmt: skip
        keys, places = next_keys.array, next_places.array
    order = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(next_places.numpy(), order)
    np.testing.assert_array_equal(next_keys.numpy().view(np.uint32), x[order])


@pytest.mark.parametrize("n", [200, 256, 1])
def test_unique(device, n):
    """Distinct values, their number and the place of each element are NumPy's."""
    x = random(n, "i16", 6, low=-40, high=40)
    out, inverse, count = (device.output(size, "i32") for size in (n, n, 1))
    unique_kernel[(1,)](device.to(x), out.array, count.array, inverse.array, n, BLOCK=256)
    expected, places = np.unique(x, return_inverse=True)
    assert count.numpy()[0] == len(expected)
    np.testing.assert_array_equal(out.numpy()[: len(expected)], expected)
    np.testing.assert_array_equal(inverse.numpy(), places)
