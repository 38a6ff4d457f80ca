"""Kernels about places: nonzero, searchsorted, index_add, segments, jagged rows, one-hot, triangles.

Selections along a middle dimension and padding of rows of different lengths included. Places and
moved data exactly; sums of floats within 1e-5 of the sum of magnitudes.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def nonzero_counts_kernel(x_ptr, count_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(count_ptr + tl.program_id(0), tl.sum((x != 0).to(tl.int32), 0))


@triton.jit
def nonzero_kernel(
    x_ptr, count_ptr, place_ptr, total_ptr, n, cols, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr
):
    """Pairs (row, column) in order; each program adds up the counts before it."""
    program = tl.program_id(0)
    p = tl.arange(0, PROGRAMS)
    counts = tl.load(count_ptr + p, mask=p < tl.num_programs(0), other=0)
    before = tl.sum(tl.where(p < program, counts, 0), 0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    found = tl.load(x_ptr + at, mask=at < n, other=0) != 0
    to = before + tl.cumsum(found.to(tl.int32), 0) - 1
    tl.store(place_ptr + 2 * to, (at // cols).to(tl.int64), mask=found)
    tl.store(place_ptr + 2 * to + 1, (at % cols).to(tl.int64), mask=found)
    if program == 0:
        tl.store(total_ptr, tl.sum(counts, 0))


@triton.jit
def searchsorted_kernel(
    edges_ptr, x_ptr, out_ptr, n_edges, n, RIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    """Every lane halves its own interval; all are done after as many steps as the longest needs."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.zeros([BLOCK], tl.int32) + n_edges
    while tl.max(high - low, 0) > 0:
        middle = (low + high) // 2
        edge = tl.load(edges_ptr + middle, mask=middle < high, other=float("inf"))
        if RIGHT:
            beyond = edge <= x
        else:
            beyond = edge < x
        low = tl.where((low < high) & beyond, middle + 1, low)
        high = tl.where((low < high) & ~beyond, middle, high)
    tl.store(out_ptr + at, low, mask=at < n)


@triton.jit
def index_select_kernel(
    x_ptr, index_ptr, out_ptr, size, count, inner, COUNT: tl.constexpr, INNER: tl.constexpr
):
    """Along the middle of (outer, size, inner); negative indices count from the end."""
    outer = tl.program_id(0)
    k = tl.program_id(1) * COUNT + tl.arange(0, COUNT)
    i = tl.program_id(2) * INNER + tl.arange(0, INNER)
    index = tl.load(index_ptr + k, mask=k < count, other=0)
    index = tl.where(index < 0, index + size, index)
    mask = (k[:, None] < count) & (i[None, :] < inner)
    x = tl.load(x_ptr + (outer * size + index[:, None]) * inner + i[None, :], mask=mask)
    tl.store(out_ptr + (outer * count + k[:, None]) * inner + i[None, :], x, mask=mask)


@triton.jit
def index_add_kernel(
    out_ptr, index_ptr, x_ptr, count, cols, alpha, COUNT: tl.constexpr, COLS: tl.constexpr
):
    k = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    row = tl.load(index_ptr + k, mask=k < count, other=0)
    mask = (k[:, None] < count) & (c[None, :] < cols)
    x = tl.load(x_ptr + k[:, None] * cols + c[None, :], mask=mask, other=0.0)
    tl.atomic_add(out_ptr + row[:, None] * cols + c[None, :], x * alpha, mask=mask)


@triton.jit
def segment_kernel(x_ptr, ends_ptr, sum_ptr, max_ptr, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Segments of rows by their ends; an empty one has the sum 0 and the maximum -inf."""
    segment = tl.program_id(0)
    begin = 0
    if segment > 0:
        begin = tl.load(ends_ptr + segment - 1)
    end = tl.load(ends_ptr + segment)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    total = tl.zeros([COLS], tl.float32)
    largest = tl.full([COLS], float("-inf"), tl.float32)
    for start in range(begin, end, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r[:, None] < end) & (c[None, :] < cols)
        x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask, other=0.0)
        total += tl.sum(x, axis=0)
        largest = tl.maximum(largest, tl.max(tl.where(mask, x, float("-inf")), axis=0))
    tl.store(sum_ptr + segment * cols + c, total, mask=c < cols)
    tl.store(max_ptr + segment * cols + c, largest, mask=c < cols)


@triton.jit
def jagged_kernel(
    packed_ptr, ends_ptr, padded_ptr, most, cols, padding,
    PAD: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """Rows that lie one after another to (batch, most, cols), or back."""
    batch = tl.program_id(0)
    begin = tl.load(ends_ptr + batch - 1, mask=batch > 0, other=0)
    length = tl.minimum(tl.load(ends_ptr + batch) - begin, most)
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)[None, :]
    live = (r < length) & (c < cols)
    packed = packed_ptr + (begin + r) * cols + c
    padded = padded_ptr + (batch * most + r) * cols + c
    if PAD:
        x = tl.load(packed, mask=live, other=padding)
        tl.store(padded, x, mask=(r < most) & (c < cols))
    else:
        tl.store(packed, tl.load(padded, mask=live), mask=live)


@triton.jit
def one_hot_triangle_kernel(
    id_ptr, hot_ptr, x_ptr, lower_ptr, upper_ptr, rows, cols, diagonal,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    at = r[:, None] * cols + c[None, :]
    ids = tl.load(id_ptr + r, mask=r < rows, other=-1)
    tl.store(hot_ptr + at, ids[:, None] == c[None, :], mask=mask)
    x = tl.load(x_ptr + at, mask=mask)
    below = c[None, :] - r[:, None] <= diagonal
    tl.store(lower_ptr + at, tl.where(below, x, 0), mask=mask)
    tl.store(upper_ptr + at, x * (c[None, :] - r[:, None] >= diagonal), mask=mask)


@pytest.mark.parametrize("dtype", ["fp32", "i8", "i1"])
def test_nonzero(device, dtype):
    """The coordinates of elements that are not zero come in order."""
    x = random((31, 70), dtype, 1) * random((31, 70), "i1", 2)
    n, programs = x.size, triton.cdiv(x.size, 256)
    counts, total = device.output(programs, "i32"), device.output(1, "i32")
    places = device.output((n, 2), "i64")
    data = device.to(x)
    nonzero_counts_kernel[(programs,)](data, counts.array, n, BLOCK=256)
    nonzero_kernel[(programs,)](
        data, counts.array, places.array, total.array, n, 70, BLOCK=256, PROGRAMS=16
    )
    expected = np.argwhere(x)
    assert total.numpy()[0] == len(expected)
    np.testing.assert_array_equal(places.numpy()[: len(expected)], expected)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("n_edges", [100, 64, 1])
def test_searchsorted(device, right, n_edges):
    """Each value's place among sorted edges is NumPy's, from the left and the right."""
    edges = np.sort(random(n_edges, "i32", 3, low=-30, high=30)).astype(np.float32)
    x = random(300, "i32", 4, low=-80, high=80).astype(np.float32) / 2
    out = device.output(300, "i32")
    searchsorted_kernel[(3,)](
        device.to(edges), device.to(x), out.array, n_edges, 300, RIGHT=right, BLOCK=128
    )
    np.testing.assert_array_equal(
        out.numpy(), np.searchsorted(edges, x, "right" if right else "left")
    )


@pytest.mark.parametrize("dtype, index_type", [("fp16", "i64"), ("fp32", "i32"), ("i8", "i16")])
def test_index_select(device, dtype, index_type):
    x, index = random((3, 20, 45), dtype, 5), random(33, index_type, 6, low=-20, high=20)
    out = device.output((3, 33, 45), dtype)
    index_select_kernel[(3, 5, 2)](
        device.to(x), device.to(index), out.array, 20, 33, 45, COUNT=8, INNER=32
    )
    np.testing.assert_array_equal(out.numpy(), x[:, index])


@pytest.mark.parametrize("dtype", ["fp32", "i32"])
def test_index_add(device, dtype):
    out, x = random((12, 50), dtype, 7), random((90, 50), dtype, 8)
    index, alpha = random(90, "i64", 9, low=0, high=12), 3 if dtype == "i32" else 0.75
    data = device.to(out.copy())
    index_add_kernel[(6, 2)](data, device.to(index), device.to(x), 90, 50, alpha, COUNT=16, COLS=32)
    expected, magnitude = out.astype(np.float64), np.abs(out).astype(np.float64)
    np.add.at(expected, index, alpha * x.astype(np.float64))
    np.add.at(magnitude, index, np.abs(alpha * x.astype(np.float64)))
    allowed = 1e-5 * magnitude * (dtype == "fp32")
    assert (np.abs(device.numpy(data) - expected) <= allowed).all()


@pytest.mark.parametrize("cols", [40, 64])
def test_segments(device, cols):
    """Sums and maxima of segments are right, of empty ones too."""
    lengths = [5, 0, 33, 1, 16, 0]
    ends = np.cumsum(lengths).astype(np.int32)
    x = random((int(ends[-1]), cols), "fp32", 10)
    sums, largest = (device.output((len(lengths), cols), "fp32") for _ in range(2))
    segment_kernel[(len(lengths), triton.cdiv(cols, 32))](
        device.to(x), device.to(ends), sums.array, largest.array, cols, ROWS=8, COLS=32
    )
    for s, length in enumerate(lengths):
        part = x[ends[s] - length : ends[s]].astype(np.float64)
        np.testing.assert_array_equal(largest.numpy()[s], part.max(axis=0, initial=-np.inf))
        error = np.abs(sums.numpy()[s] - part.sum(axis=0))
        assert (error <= 1e-5 * np.abs(part).sum(axis=0)).all()


@pytest.mark.parametrize("dtype", ["fp16", "i64"])
def test_jagged(device, dtype):
    """Rows of several lengths are padded, and packed again."""
    lengths, most, cols = [7, 0, 20, 30, 1], 20, 50
    ends = np.cumsum(lengths).astype(np.int64)
    x = random((int(ends[-1]), cols), dtype, 11)
    padded, back = device.output((5, most, cols), dtype), device.output(x.shape, dtype)
    d_ends, grid = device.to(ends), (5, triton.cdiv(most, 8))
    sizes = dict(ROWS=8, COLS=64)
    jagged_kernel[grid](device.to(x), d_ends, padded.array, most, cols, -3, PAD=True, **sizes)
    jagged_kernel[grid](back.array, d_ends, padded.array, most, cols, -3, PAD=False, **sizes)
    before = back.before.view(x.dtype)[64 : 64 + x.size].reshape(x.shape)
    for b, length in enumerate(lengths):
        rows, kept = x[ends[b] - length : ends[b]], min(length, most)
        np.testing.assert_array_equal(padded.numpy()[b, :kept], rows[:kept])
        assert (padded.numpy()[b, kept:] == -3).all()
        result = back.numpy()[ends[b] - length : ends[b]]
        np.testing.assert_array_equal(result[:kept], rows[:kept])
        np.testing.assert_array_equal(result[kept:], before[ends[b] - length + kept : ends[b]])


@pytest.mark.parametrize("diagonal", [0, -3, 5])
def test_one_hot_and_triangles(device, diagonal):
    rows, cols = 37, 50
    ids, x = random(rows, "i64", 12, low=-5, high=60), random((rows, cols), "fp32", 13)
    hot, lower, upper = (device.output(x.shape, kind) for kind in ("i8", "fp32", "fp32"))
    one_hot_triangle_kernel[(5,)](
        device.to(ids), hot.array, device.to(x), lower.array, upper.array, rows, cols, diagonal,
        ROWS=8, COLS=64,
    )  # fmt: skip
    np.testing.assert_array_equal(hot.numpy(), ids[:, None] == np.arange(cols))
    np.testing.assert_array_equal(lower.numpy(), np.tril(x, diagonal))
    np.testing.assert_array_equal(upper.numpy(), np.triu(x, diagonal))
