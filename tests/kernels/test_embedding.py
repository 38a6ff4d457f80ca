"""Rows by index: embedding and its gradient, scatter and gather, index updates, repeats, histograms.

The gradient is summed by atomics, or by one program per run of sorted ids (deterministic).
Copies are exact; sums in fp32 lie within 1e-5 of the sum of magnitudes.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def embedding_kernel(
    id_ptr, table_ptr, out_ptr, padding_id, tokens, DIM, scale,
    ROWS: tl.constexpr, COLS: tl.constexpr, HAS_PADDING: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    ids = tl.load(id_ptr + row, mask=row < tokens, other=0)
    mask = (row < tokens)[:, None] & (c < DIM)[None, :]
    wanted = mask & (ids != padding_id)[:, None] if HAS_PADDING else mask
    x = tl.load(table_ptr + ids[:, None] * DIM + c[None, :], mask=wanted, other=0.0)
    tl.store(out_ptr + row[:, None] * DIM + c[None, :], (x * scale).to(x.dtype), mask=mask)


@triton.jit
def embedding_gradient_kernel(
    id_ptr, dy_ptr, dw_ptr, padding_id, tokens, DIM, ROWS: tl.constexpr, COLS: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    ids = tl.load(id_ptr + row, mask=row < tokens, other=padding_id)
    mask = ((row < tokens) & (ids != padding_id))[:, None] & (c < DIM)[None, :]
    dy = tl.load(dy_ptr + row[:, None] * DIM + c[None, :], mask=mask, other=0.0)
    at = dw_ptr + ids[:, None] * DIM + c[None, :]
    tl.atomic_add(at, dy.to(dw_ptr.dtype.element_ty), mask=mask, sem="relaxed")


@triton.jit
def run_gradient_kernel(
    order_ptr, starts_ptr, id_ptr, dy_ptr, dw_ptr, DIM, ROWS: tl.constexpr, COLS: tl.constexpr
):
    """One program a run of equal ids; `order` lists tokens sorted by id."""
    run = tl.program_id(0)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    first, last = tl.load(starts_ptr + run), tl.load(starts_ptr + run + 1)
    acc = tl.zeros([COLS], dtype=tl.float32)
    for start in range(first, last, ROWS):
        at = start + tl.arange(0, ROWS)
        token = tl.load(order_ptr + at, mask=at < last, other=0)
        mask = (at < last)[:, None] & (c < DIM)[None, :]
        dy = tl.load(dy_ptr + token[:, None] * DIM + c[None, :], mask=mask, other=0.0)
        acc += tl.sum(dy.to(tl.float32), 0)
    row = tl.load(id_ptr + tl.load(order_ptr + first))
    tl.store(dw_ptr + row * DIM + c, acc, mask=c < DIM)


@triton.jit
def scatter_kernel(
    src_ptr, index_ptr, out_ptr, rows, columns, out_columns, REDUCE: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """out[i, index[i, j]] (op)= src[i, j]."""
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = c < columns
    src = tl.load(src_ptr + row * columns + c, mask=mask)
    index = tl.load(index_ptr + row * columns + c, mask=mask, other=0)
    tl.device_assert((index >= 0) & (index < out_columns), "an index outside the row", mask=mask)
    out = out_ptr + row * out_columns + index
    if REDUCE == "add":
        tl.atomic_add(out, src, mask=mask)
    elif REDUCE == "amax":
        tl.atomic_max(out, src, mask=mask)
    elif REDUCE == "amin":
        tl.atomic_min(out, src, mask=mask)
    else:
        tl.static_assert(REDUCE == "none")
        tl.store(out, src, mask=mask)


@triton.jit
def gather_kernel(src_ptr, index_ptr, out_ptr, columns, src_columns, BLOCK: tl.constexpr):
    """Negative indices count from the end."""
    row = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + row * columns + c, mask=c < columns, other=0)
    index = tl.where(index < 0, index + src_columns, index)
    x = tl.load(src_ptr + row * src_columns + index, mask=c < columns)
    tl.store(out_ptr + row * columns + c, x, mask=c < columns)


@triton.jit
def repeat_interleave_kernel(x_ptr, ends_ptr, out_ptr, DIM, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    end = tl.load(ends_ptr + row)
    start = 0
    if row > 0:
        start = tl.load(ends_ptr + row - 1)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * DIM + c, mask=c < DIM)
    for to in range(start, end):
        tl.store(out_ptr + to * DIM + c, x, mask=c < DIM)


@triton.jit
def masked_fill_kernel(x_ptr, mask_ptr, out_ptr, value, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    fill = tl.load(mask_ptr + at, mask=inside, other=0).to(tl.int1)
    x = tl.load(x_ptr + at, mask=inside & (not fill), other=0)
    tl.store(out_ptr + at, tl.where(fill, value, x), mask=inside)


@triton.jit
def masked_select_kernel(x_ptr, mask_ptr, before_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """`before` holds how many elements earlier blocks keep."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(mask_ptr + at, mask=at < n, other=0) != 0
    place = tl.load(before_ptr + pid) + tl.cumsum(keep.to(tl.int32), 0) - 1
    tl.store(out_ptr + place, tl.load(x_ptr + at, mask=keep), mask=keep)


@triton.jit
def equal_bins_kernel(x_ptr, count_ptr, low, width, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Numbers into bins of equal width; the last bin takes the upper edge; others are left out."""
    counts = tl.zeros([BINS], dtype=tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=float("nan"))
        place = tl.floor((x - low) / width)
        place = tl.where((place == BINS) & (x <= low + width * BINS), BINS - 1.0, place)
        good = (place >= 0) & (place < BINS)
        bins = tl.where(good, place, 0.0).to(tl.int32)
        counts += tl.histogram(bins, BINS, mask=good)
    tl.atomic_add(count_ptr + tl.arange(0, BINS), counts)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dtype, id_type", [("fp32", "i64"), ("bf16", "i32")])
def test_embedding(device, dtype, id_type, padded):
    """Rows are looked up by index, and the padding index gives zeros."""
    tokens, vocab, dim = 45, 30, 70
    ids, table = random(tokens, id_type, 1, low=0, high=vocab), random((vocab, dim), dtype, 2)
    out = device.output((tokens, dim), dtype)
    embedding_kernel[(triton.cdiv(tokens, 8), triton.cdiv(dim, 64))](
        device.to(ids), device.to(table), out.array, 7, tokens, dim, 2.0, ROWS=8, COLS=64,
        HAS_PADDING=padded,
    )  # fmt: skip
    expected = table[ids].astype(np.float32) * 2
    if padded:
        assert (ids == 7).any()
        expected[ids == 7] = 0
    np.testing.assert_array_equal(out.numpy().astype(np.float32), expected)


@pytest.mark.parametrize("dtype, grad", [("fp32", "fp32"), ("bf16", "fp32"), ("fp16", "fp16")])
def test_embedding_gradient(device, dtype, grad):
    tokens, vocab, dim, padding = 100, 12, 40, 3
    ids, dy = random(tokens, "i32", 3, low=0, high=vocab), random((tokens, dim), dtype, 4)
    dw = device.to(np.zeros((vocab, dim), np.float32 if grad == "fp32" else np.float16))
    embedding_gradient_kernel[(triton.cdiv(tokens, 16), triton.cdiv(dim, 32))](
        device.to(ids), device.to(dy), dw, padding, tokens, dim, ROWS=16, COLS=32
    )
    expected, size = np.zeros((vocab, dim)), np.zeros((vocab, dim))
    used = ids != padding
    np.add.at(expected, ids[used], dy[used].astype(np.float64))
    np.add.at(size, ids[used], np.abs(dy[used].astype(np.float64)))
    allowed = (1e-6 if grad == "fp32" else 2.0**-10 * 4) * size
    assert (np.abs(device.numpy(dw) - expected) <= allowed).all()


def test_gradient_of_runs(device):
    tokens, vocab, dim = 130, 20, 48
    ids, dy = random(tokens, "i64", 5, low=0, high=vocab), random((tokens, dim), "fp16", 6)
    order = np.argsort(ids, kind="stable")
    used, starts = np.unique(ids[order], return_index=True)
    dw = device.output((vocab, dim), "fp32")
    run_gradient_kernel[(len(used), triton.cdiv(dim, 32))](
        *map(device.to, (order, np.append(starts, tokens), ids, dy)), dw.array, dim, ROWS=4, COLS=32
    )
    expected = np.zeros((vocab, dim))
    np.add.at(expected, ids, dy.astype(np.float64))
    np.testing.assert_allclose(dw.numpy()[used], expected[used], rtol=1e-5, atol=1e-5)
    assert np.isnan(np.delete(dw.numpy(), used, axis=0)).all()


@pytest.mark.parametrize("reduce", ["none", "add", "amax", "amin"])
@pytest.mark.parametrize("dtype", ["fp32", "i32", "i64"])
def test_scatter(device, dtype, reduce):
    """Elements go to the columns that an index names, combined as the reduction says."""
    rows, columns, out_columns = 5, 90, 120 if reduce == "none" else 17
    src, start = random((rows, columns), dtype, 7), random((rows, out_columns), dtype, 8)
    generator = np.random.default_rng(9)
    index = np.stack(
        [
            generator.permutation(out_columns)[:columns]
            if reduce == "none"
            else generator.integers(0, out_columns, columns)
            for _ in range(rows)
        ]
    )
    out = device.to(start.copy())
    scatter_kernel[(rows, triton.cdiv(columns, 64))](
        device.to(src), device.to(index), out, rows, columns, out_columns, REDUCE=reduce, BLOCK=64
    )
    expected = start.astype(np.float64 if dtype == "fp32" else np.int64)
    at = (np.arange(rows)[:, None], index)
    if reduce == "none":
        expected[at] = src
    else:
        {"add": np.add, "amax": np.maximum, "amin": np.minimum}[reduce].at(expected, at, src)
    if dtype == "fp32" and reduce == "add":
        np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(device.numpy(out), expected)


@pytest.mark.parametrize("dtype", ["fp16", "i8", "fp64"])
def test_gather(device, dtype):
    """Elements are taken from the columns that an index names, also by negative ones."""
    rows, columns, src_columns = 4, 100, 33
    src = random((rows, src_columns), dtype, 10)
    index = random((rows, columns), "i32", 11, low=-src_columns, high=src_columns)
    out = device.output((rows, columns), dtype)
    gather_kernel[(rows, triton.cdiv(columns, 64))](
        device.to(src), device.to(index), out.array, columns, src_columns, BLOCK=64
    )
    np.testing.assert_array_equal(out.numpy(), np.take_along_axis(src, index % src_columns, 1))


def test_repeat_interleave(device):
    x, times = random((9, 20), "fp32", 12), random(9, "i32", 13, low=0, high=5)
    out = device.output((int(times.sum()), 20), "fp32")
    repeat_interleave_kernel[(9,)](
        device.to(x), device.to(np.cumsum(times, dtype=np.int32)), out.array, 20, BLOCK=32
    )
    np.testing.assert_array_equal(out.numpy(), np.repeat(x, times, axis=0))


@pytest.mark.parametrize("dtype, value", [("fp16", float("-inf")), ("i32", 7), ("fp32", -1.5)])
def test_masked_fill(device, dtype, value):
    x, mask, out = random(300, dtype, 14), random(300, "i1", 15), device.output(300, dtype)
    masked_fill_kernel[(triton.cdiv(300, 128),)](
        device.to(x), device.to(mask), out.array, value, 300, BLOCK=128
    )
    np.testing.assert_array_equal(out.numpy(), np.where(mask, np.array(value, x.dtype), x))


def test_masked_select(device):
    n, block = 1000, 128
    x, mask = random(n, "fp32", 16), random(n, "i1", 17)
    kept = np.pad(mask, (0, -n % block)).reshape(-1, block).sum(1)
    before = (np.cumsum(kept) - kept).astype(np.int32)
    out = device.output(int(mask.sum()), "fp32")
    masked_select_kernel[(len(kept),)](
        device.to(x), device.to(mask), device.to(before), out.array, n, BLOCK=block
    )
    np.testing.assert_array_equal(out.numpy(), x[mask])


@pytest.mark.parametrize("programs", [1, 5])
def test_histogram_of_numbers(device, programs):
    n, bins, low, width = 5000, 32, -2.0, 0.125
    x = random(n, "fp32", 18)
    x[:3] = [low, low + width * bins, np.nan]
    counts = device.to(np.zeros(bins, np.int32))
    equal_bins_kernel[(programs,)](device.to(x), counts, low, width, n, BINS=bins, BLOCK=256)
    expected = np.histogram(x[~np.isnan(x)], bins, (low, low + width * bins))[0]
    np.testing.assert_array_equal(device.numpy(counts), expected)
