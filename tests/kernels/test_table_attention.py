"""Attention over a cache that a table leads to, whose entries are read in the loop itself.

Indirect copies of the cache are prefetched (cp.async). A cache of fp8 is widened and scaled on
its way to the dot; a latent cache is key and value at once, its last dimensions for positions
alone; a head's sink adds to the sum. Lengths are odd, one is shorter than a tile, and
entries after the end of a table are far outside of the cache. fp16 within 4e-3, fp8 as stored.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _in_working_type(tile, scale_ptr, like):
    if tile.dtype.is_fp8():
        return (tile.to(tl.float32) * tl.load(scale_ptr)).to(like.dtype)
    else:
        return tile


@triton.jit
def cached_attention_kernel(
    out_ptr, q_ptr, k_ptr, v_ptr, k_scale_ptr, v_scale_ptr, sinks_ptr, table_ptr, lengths_ptr,
    softmax_scale, table_stride: tl.int64, WINDOW: tl.constexpr, HEADS: tl.constexpr,
    GROUP: tl.constexpr, DIM: tl.constexpr, PAGE: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """The last token of a sequence: `GROUP` heads of one key head, padded to `ROWS`."""
    sequence, group = tl.program_id(0), tl.program_id(1)
    head = group * GROUP + tl.arange(0, ROWS)
    is_head = tl.arange(0, ROWS) < GROUP
    d = tl.arange(0, DIM)
    q_at = (sequence * HEADS + head)[:, None] * DIM + d[None, :]
    q = tl.load(q_ptr + q_at, mask=is_head[:, None], other=0.0)
    length = tl.load(lengths_ptr + sequence)
    best = tl.load(sinks_ptr + head, mask=is_head, other=0.0).to(tl.float32)
    total = tl.full([ROWS], 1.0, tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    first = 0
    if WINDOW > 0:
        first = tl.maximum(length - WINDOW, 0) // COLUMNS * COLUMNS
    for start in range(first, length, COLUMNS):
        n = start + tl.arange(0, COLUMNS)
        inside = n < length
        if WINDOW > 0:
            inside &= n >= length - WINDOW
        page = tl.load(table_ptr + sequence * table_stride + n // PAGE, mask=inside, other=0)
        token = (page.to(tl.int64) * PAGE + n % PAGE) * (HEADS // GROUP) + group
        k = tl.load(k_ptr + token[None, :] * DIM + d[:, None], mask=inside[None, :], other=0.0)
        v = tl.load(v_ptr + token[:, None] * DIM + d[None, :], mask=inside[:, None], other=0.0)
        s = tl.dot(q, _in_working_type(k, k_scale_ptr, q)) * softmax_scale
        s = tl.where(inside[None, :], s, float("-inf"))
        new_best = tl.maximum(best, tl.max(s, axis=1))
        p = tl.exp(s - new_best[:, None])
        shrink = tl.exp(best - new_best)
        v = _in_working_type(v, v_scale_ptr, q)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        total = total * shrink + tl.sum(p, axis=1)
        best = new_best
    tl.store(out_ptr + q_at, acc / total[:, None], mask=is_head[:, None])


@triton.jit
def latent_attention_kernel(
    out_ptr, q_ptr, cache_ptr, slots_ptr, begins_ptr, softmax_scale, HEADS: tl.constexpr,
    DIM: tl.constexpr, EXTRA: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """All heads share one row a token: `DIM` that are key and value, `EXTRA` that are key alone."""
    sequence, part = tl.program_id(0), tl.program_id(1)
    head = part * ROWS + tl.arange(0, ROWS)
    d, e = tl.arange(0, DIM), DIM + tl.arange(0, EXTRA)
    row = (sequence * HEADS + head)[:, None]
    is_head = (head < HEADS)[:, None]
    q = tl.load(q_ptr + row * (DIM + EXTRA) + d, mask=is_head, other=0.0)
    q_extra = tl.load(q_ptr + row * (DIM + EXTRA) + e, mask=is_head, other=0.0)
    begin, end = tl.load(begins_ptr + sequence), tl.load(begins_ptr + sequence + 1)
    best = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for start in range(begin, end, COLUMNS):
        n = start + tl.arange(0, COLUMNS)
        inside = n < end
        slot = tl.load(slots_ptr + n, mask=inside, other=0) * (DIM + EXTRA)
        k = tl.load(cache_ptr + slot[None, :] + d[:, None], mask=inside[None, :], other=0.0)
        k_extra = tl.load(cache_ptr + slot[None, :] + e[:, None], mask=inside[None, :], other=0.0)
        s = tl.dot(q, k)
        s += tl.dot(q_extra, k_extra)
        s = tl.where(inside[None, :], s * softmax_scale, float("-inf"))
        new_best = tl.maximum(best, tl.max(s, axis=1))
        p = tl.exp(s - new_best[:, None])
        shrink = tl.exp(best - new_best)
        v = tl.load(cache_ptr + slot[:, None] + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        total = total * shrink + tl.sum(p, axis=1)
        best = new_best
    tl.store(out_ptr + row * DIM + d, acc / total[:, None], mask=is_head)


def softmax_product(s, v, sink=None):
    """exp(s) v over its sum, with exp(sink) in the sum; all in float64."""
    p = np.exp(s)
    extra = 0 if sink is None else np.exp(sink.astype(np.float64))[:, None]
    return p @ v / (p.sum(axis=1, keepdims=True) + extra)


def pages_of(lengths, page, seed):
    """Pages in random order, and a table whose rows end in entries far outside."""
    counts = [triton.cdiv(n, page) for n in lengths]
    order = np.random.default_rng(seed).permutation(sum(counts) + 3).astype(np.int32)
    table = np.full((len(lengths), max(counts) + 1), 1 << 28, np.int32)
    for row, count, stop in zip(table, counts, np.cumsum(counts)):
        row[:count] = order[stop - count : stop]
    return table, len(order)


@pytest.mark.parametrize("warps, stages", [(4, 3), (2, 2), (8, 4)])
@pytest.mark.parametrize(
    "dtype, window, page", [("fp16", 0, 16), ("fp8e4nv", 0, 8), ("fp16", 40, 4)]
)
def test_cached_attention(device, dtype, window, page, warps, stages):
    heads, group, dim = 6, 3, 64
    lengths = [5, 97, 64, 131]
    table, pages = pages_of(lengths, page, seed=1)
    q = random((len(lengths), heads, dim), "fp16", 2)
    k, v = (random((pages, page, heads // group, dim), dtype, seed) for seed in (3, 4))
    sinks, scales = random(heads, "fp32", 5), np.array([0.5, 1.5], np.float32)
    out = device.output(q.shape, "fp16")
    d_scales = device.to(scales)
    cached_attention_kernel[(len(lengths), heads // group)](
        out.array, device.to(q), device.to(k), device.to(v), d_scales[:1], d_scales[1:],
        device.to(sinks), device.to(table), device.to(np.array(lengths, np.int32)), 0.125,
        table.shape[1], window, heads, group, dim, page, 16, 32, num_warps=warps,
        num_stages=stages,
    )  # fmt: skip
    wide = scales.astype(np.float64) if dtype.startswith("fp8") else [1.0, 1.0]
    for i, length in enumerate(lengths):
        kept = table[i, : triton.cdiv(length, page)]
        begin = max(length - window, 0) if window else 0
        for g in range(heads // group):
            mine = slice(g * group, (g + 1) * group)
            keys, values = (
                scale * np.concatenate(cache[kept])[begin:length, g].astype(np.float64)
                for cache, scale in zip((k, v), wide)
            )
            s = q[i, mine].astype(np.float64) @ keys.T * 0.125
            expected = softmax_product(s, values, sinks[mine])
            np.testing.assert_allclose(out.numpy()[i, mine], expected, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("warps, stages", [(4, 2), (4, 1), (8, 3)])
@pytest.mark.parametrize("heads, dtype", [(20, np.int64), (16, np.int32)])
def test_latent_attention(device, heads, dtype, warps, stages):
    dim, extra = 128, 16
    begins = np.array([0, 70, 71, 120], np.int32)
    slots = np.random.default_rng(1).permutation(140)[:120].astype(dtype)
    q = random((3, heads, dim + extra), "fp16", 2)
    cache = random((140, dim + extra), "fp16", 3)
    out = device.output((3, heads, dim), "fp16")
    latent_attention_kernel[(3, triton.cdiv(heads, 16))](
        out.array, device.to(q), device.to(cache), device.to(slots), device.to(begins), 0.1,
        heads, dim, extra, 16, 32, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    for i in range(3):
        rows = cache[slots[begins[i] : begins[i + 1]]].astype(np.float64)
        s = q[i].astype(np.float64) @ rows.T * 0.1
        expected = softmax_product(s, rows[:, :dim])
        np.testing.assert_allclose(out.numpy()[i], expected, rtol=4e-3, atol=4e-3)
