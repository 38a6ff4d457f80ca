"""Decoding of multi-head latent attention over a paged cache, with the context split over programs.

All heads share one row a token (DeepSeek-V2, arXiv 2405.04434): DIM elements that are key and
value, EXTRA that are key alone. A tile of values is the transposed tile of keys. Each split writes
its normalised result and its log-sum-exp, -inf where it has no token; a second kernel joins them.
Lengths are odd, one is 1; entries after the end of a table are far outside of the cache.

With s the scores, p = exp(s - max s), l = sum p and o = p v / l, a split may be off by
u p |v| / l + t sum |v| / l for p in the type of the cache (u is 2^-11 of fp16, 2^-8 of bf16, t half
of the smallest number), and by 2^-15 (1 + |q| |k|) p |v| / l for sums in fp32 and exp; its
log-sum-exp by 2^-16 (1 + |q| |k| + |lse|). The joined result has the same bound, and half a step of
its own type.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def latent_split_kernel(
    q_ptr, cache_ptr, table_ptr, lengths_ptr, mid_ptr, lse_ptr, softmax_scale, stride_table,
    HEADS: tl.constexpr, DIM: tl.constexpr, EXTRA: tl.constexpr, PAGE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """`ROWS` heads of a sequence and one split of its context."""
    sequence, part, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    head = part * ROWS + tl.arange(0, ROWS)
    d, e = tl.arange(0, DIM), DIM + tl.arange(0, EXTRA)
    is_head = head < HEADS
    row = sequence * HEADS + head
    q_at = row[:, None] * (DIM + EXTRA)
    q = tl.load(q_ptr + q_at + d[None, :], mask=is_head[:, None], other=0.0)
    q_extra = tl.load(q_ptr + q_at + e[None, :], mask=is_head[:, None], other=0.0)

    length = tl.load(lengths_ptr + sequence)
    per_split = tl.cdiv(tl.cdiv(length, SPLITS), COLUMNS) * COLUMNS
    begin = split * per_split
    end = tl.minimum(begin + per_split, length)
    best = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    for start in range(begin, end, COLUMNS):
        n = start + tl.arange(0, COLUMNS)
        inside = n < end
        page = tl.load(table_ptr + sequence * stride_table + n // PAGE, mask=inside, other=0)
        k_at = (page.to(tl.int64) * PAGE + n % PAGE)[None, :] * (DIM + EXTRA)
        k = tl.load(cache_ptr + k_at + d[:, None], mask=inside[None, :], other=0.0)
        k_extra = tl.load(cache_ptr + k_at + e[:, None], mask=inside[None, :], other=0.0)
        s = tl.dot(q, k)
        s += tl.dot(q_extra, k_extra)
        s = tl.where(inside[None, :], s * softmax_scale, float("-inf"))
        new_best = tl.maximum(best, tl.max(s, 1))
        p = tl.exp(s - new_best[:, None])
        shrink = tl.exp(best - new_best)
        v = tl.trans(k)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        total = total * shrink + tl.sum(p, 1)
        best = new_best
    mid_row = row * SPLITS + split
    result = acc / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(mid_ptr + mid_row[:, None] * DIM + d[None, :], result, mask=is_head[:, None])
    tl.store(lse_ptr + mid_row, best + tl.log(total), mask=is_head)


@triton.jit
def latent_join_kernel(
    mid_ptr, lse_ptr, out_ptr, HEADS: tl.constexpr, DIM: tl.constexpr, SPLITS: tl.constexpr
):
    """The splits' results weighed by exp(lse); the first split is never empty."""
    row = tl.program_id(0) * HEADS + tl.program_id(1)
    d = tl.arange(0, DIM)
    best = -float("inf")
    total = 0.0
    acc = tl.zeros([DIM], tl.float32)
    for split in range(0, SPLITS):
        lse = tl.load(lse_ptr + row * SPLITS + split)
        result = tl.load(mid_ptr + (row * SPLITS + split) * DIM + d)
        new_best = tl.maximum(best, lse)
        shrink = tl.exp(best - new_best)
        weight = tl.exp(lse - new_best)
        acc = acc * shrink + result * weight
        total = total * shrink + weight
        best = new_best
    tl.store(out_ptr + row * DIM + d, (acc / total).to(out_ptr.dtype.element_ty))


def pages_of(lengths, page, seed):
    """Pages in random order, and a table whose rows end in entries far outside."""
    counts = [triton.cdiv(n, page) for n in lengths]
    order = np.random.default_rng(seed).permutation(sum(counts) + 3).astype(np.int32)
    table = np.full((len(lengths), max(counts) + 1), 1 << 28, np.int32)
    for row, count, stop in zip(table, counts, np.cumsum(counts)):
        row[:count] = order[stop - count : stop]
    return table, len(order)


def attend(q, rows, dim, scale):
    """o, its bound, lse and its bound, of the tokens whose rows are given."""
    kind = ml_dtypes.finfo(rows.dtype)
    q, k = q.astype(np.float64), rows.astype(np.float64)
    s = q @ k.T * scale
    best = s.max(axis=1, keepdims=True)
    p = np.exp(s - best)
    total = p.sum(axis=1, keepdims=True)
    size = 1 + (np.abs(q) @ np.abs(k).T).max(axis=1, keepdims=True) * scale
    weighted = p @ np.abs(k[:, :dim]) / total
    allowed = (float(kind.eps) / 2 + 2.0**-15 * size) * weighted
    allowed += float(kind.smallest_subnormal) / 2 * np.abs(k[:, :dim]).sum(axis=0) / total
    lse = best + np.log(total)
    return p @ k[:, :dim] / total, allowed, lse[:, 0], 2.0**-16 * (size + np.abs(lse))[:, 0]


def check_sequence(q, rows, scale, columns, mid, lse, out):
    """One sequence's results (heads, splits, dim), (heads, splits) and (heads, dim)."""
    splits, dim = mid.shape[1:]
    per_split = -(-(-(-len(rows) // splits)) // columns) * columns
    for split in range(splits):
        part = rows[split * per_split : (split + 1) * per_split]
        if len(part) == 0:
            assert (lse[:, split] == -np.inf).all() and (mid[:, split] == 0).all()
            continue
        result, allowed, expected_lse, allowed_lse = attend(q, part, dim, scale)
        assert (np.abs(mid[:, split] - result) <= allowed).all()
        assert (np.abs(lse[:, split] - expected_lse) <= allowed_lse).all()
    result, allowed, _, _ = attend(q, rows, dim, scale)
    kind = ml_dtypes.finfo(out.dtype)
    allowed += float(kind.eps) / 2 * np.abs(result) + float(kind.smallest_subnormal)
    assert (np.abs(out.astype(np.float64) - result) <= allowed).all()


@pytest.mark.parametrize("splits", [1, 4])
@pytest.mark.parametrize(
    "dtype, heads, dim, extra, page, tile, warps, stages",
    [
        ("fp16", 16, 128, 32, 16, (16, 32), 4, 2),
        ("bf16", 20, 64, 16, 8, (16, 64), 4, 3),
        ("bf16", 72, 128, 64, 64, (64, 64), 8, 2),
        ("fp16", 20, 64, 16, 4, (32, 16), 2, 1),
    ],
)
def test_decode(device, dtype, heads, dim, extra, page, tile, warps, stages, splits):
    """Split decoding over pages agrees with attention in float64."""
    lengths = [1, 1203, 257, 768] if device.on_gpu else [1, 131, 64]
    table, pages = pages_of(lengths, page, seed=1)
    q = random((len(lengths), heads, dim + extra), dtype, 2)
    cache = random((pages, page, dim + extra), dtype, 3)
    scale = (dim + extra) ** -0.5
    mid = device.output((len(lengths), heads, splits, dim), "fp32")
    lse = device.output((len(lengths), heads, splits), "fp32")
    out = device.output((len(lengths), heads, dim), dtype)
    latent_split_kernel[(len(lengths), triton.cdiv(heads, tile[0]), splits)](
        device.to(q), device.to(cache), device.to(table), device.to(np.array(lengths, np.int32)),
        mid.array, lse.array, scale, table.shape[1], HEADS=heads, DIM=dim, EXTRA=extra, PAGE=page,
        ROWS=tile[0], COLUMNS=tile[1], SPLITS=splits, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    latent_join_kernel[(len(lengths), heads)](
        mid.array, lse.array, out.array, HEADS=heads, DIM=dim, SPLITS=splits, num_warps=1
    )
    results = mid.numpy(), lse.numpy(), out.numpy()
    for i, length in enumerate(lengths):
        rows = np.concatenate(cache[table[i, : triton.cdiv(length, page)]])[:length]
        check_sequence(q[i], rows, scale, tile[1], *(x[i] for x in results))
