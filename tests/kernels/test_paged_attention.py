"""Decoding over a paged cache: keys and values lie in pages that a block table names.

The context is split over programs; a second kernel joins the parts by their log-sum-exps. Groups of
query heads share a key head and are padded to 16 rows for the dot. A second pair of kernels does
one query head a program without dots. Context lengths are odd, one is 1. fp16 within 2e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _split_decode(
    Q, K_Cache, V_Cache, Block_Table, Seq_Lens, Mid_O, Mid_Lse,
    sm_scale,
    stride_qb, stride_qh,
    stride_kp, stride_ks, stride_kh,
    stride_vp, stride_vs, stride_vh,
    stride_tb,
    stride_mb, stride_mh, stride_ms,
    GROUP: tl.constexpr, BLOCK_H: tl.constexpr, HEAD_DIM: tl.constexpr,
    PAGE: tl.constexpr, BLOCK_N: tl.constexpr, NUM_SPLITS: tl.constexpr,
):  # fmt: skip
    batch, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    seq_len = tl.load(Seq_Lens + batch)
    per_split = tl.cdiv(tl.cdiv(seq_len, NUM_SPLITS), BLOCK_N) * BLOCK_N
    begin = split * per_split
    end = tl.minimum(begin + per_split, seq_len)

    offs_h = tl.arange(0, BLOCK_H)
    offs_d = tl.arange(0, HEAD_DIM)
    offs_n = tl.arange(0, BLOCK_N)
    heads = kv_head * GROUP + offs_h
    head_mask = offs_h < GROUP
    q = tl.load(
        Q + batch * stride_qb + heads[:, None] * stride_qh + offs_d[None, :],
        mask=head_mask[:, None],
        other=0.0,
    )
    m_i = tl.zeros([BLOCK_H], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, HEAD_DIM], dtype=tl.float32)
    if end > begin:
        for start in range(begin, end, BLOCK_N):
            pos = start + offs_n
            ok = pos < end
            page = tl.load(Block_Table + batch * stride_tb + pos // PAGE, mask=ok, other=0)
            slot = page.to(tl.int64) * stride_kp + (pos % PAGE) * stride_ks
            k = tl.load(
                K_Cache + slot[None, :] + kv_head * stride_kh + offs_d[:, None],
                mask=ok[None, :],
                other=0.0,
            )
            qk = tl.dot(q, k.to(q.dtype)) * sm_scale
            qk = tl.where(head_mask[:, None] & ok[None, :], qk, float("-inf"))
            slot = page.to(tl.int64) * stride_vp + (pos % PAGE) * stride_vs
            v = tl.load(
                V_Cache + slot[:, None] + kv_head * stride_vh + offs_d[None, :],
                mask=ok[:, None],
                other=0.0,
            )
            m_new = tl.maximum(tl.max(qk, 1), m_i)
            m_ref = tl.where(head_mask, m_new, 0.0)
            alpha = tl.exp(m_i - m_ref)
            p = tl.exp(qk - m_ref[:, None])
            acc *= alpha[:, None]
            acc += tl.dot(p.to(v.dtype), v)
            l_i = l_i * alpha + tl.sum(p, 1)
            m_i = m_new
        mid = batch * stride_mb + heads * stride_mh + split * stride_ms
        tl.store(
            Mid_O + mid[:, None] * HEAD_DIM + offs_d[None, :],
            acc / l_i[:, None],
            mask=head_mask[:, None],
        )
        tl.store(Mid_Lse + mid, m_i + tl.log(l_i), mask=head_mask)


@triton.jit
def _join_splits(
    Mid_O, Mid_Lse, Out, Seq_Lens, stride_mb, stride_mh, stride_ms, stride_ob, stride_oh,
    HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr, NUM_SPLITS: tl.constexpr,
):  # fmt: skip
    batch, head = tl.program_id(0), tl.program_id(1)
    seq_len = tl.load(Seq_Lens + batch)
    per_split = tl.cdiv(tl.cdiv(seq_len, NUM_SPLITS), BLOCK_N) * BLOCK_N
    offs_d = tl.arange(0, HEAD_DIM)
    best = -float("inf")
    total = 0.0
    acc = tl.zeros([HEAD_DIM], dtype=tl.float32)
    base = batch * stride_mb + head * stride_mh
    for split in range(0, NUM_SPLITS):
        if split * per_split < seq_len:
            part = tl.load(Mid_O + (base + split * stride_ms) * HEAD_DIM + offs_d)
            lse = tl.load(Mid_Lse + base + split * stride_ms)
            new_best = tl.maximum(lse, best)
            old = tl.exp(best - new_best)
            weight = tl.exp(lse - new_best)
            acc = acc * old + weight * part
            total = total * old + weight
            best = new_best
    tl.store(Out + batch * stride_ob + head * stride_oh + offs_d, acc / total)


@triton.jit
def _decode_one_head(
    Out, Q, K_Cache, V_Cache, Block_Table, Seq_Lens, sm_scale, stride_tb,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """One query head per program and one page per step, by multiplications and sums."""
    batch, head = tl.program_id(0), tl.program_id(1)
    kv_head = head // (HEADS // KV_HEADS)
    offs_d, offs_p = tl.arange(0, HEAD_DIM), tl.arange(0, PAGE)
    seq_len = tl.load(Seq_Lens + batch)
    q = tl.load(Q + (batch * HEADS + head) * HEAD_DIM + offs_d).to(tl.float32) * sm_scale
    acc = tl.zeros([PAGE, HEAD_DIM], tl.float32)
    m_i = -1.0e38
    l_i = 0.0
    for i in range(0, tl.cdiv(seq_len, PAGE)):
        page = tl.load(Block_Table + batch * stride_tb + i)
        offsets = ((page * PAGE + offs_p[:, None]) * KV_HEADS + kv_head) * HEAD_DIM + offs_d[
            None, :
        ]
        valid = i * PAGE + offs_p < seq_len
        k = tl.load(K_Cache + offsets, mask=valid[:, None], other=0.0).to(tl.float32)
        s = tl.sum(q[None, :] * k, axis=1)
        s = tl.where(valid, s, -1.0e38)
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        p = tl.where(valid, tl.exp(s - m_new), 0.0)
        alpha = tl.exp(m_i - m_new)
        v = tl.load(V_Cache + offsets, mask=valid[:, None], other=0.0).to(tl.float32)
        acc = acc * alpha + p[:, None] * v
        l_i = l_i * alpha + tl.sum(p, axis=0)
        m_i = m_new
    out = tl.sum(acc, axis=0) / l_i
    tl.store(Out + (batch * HEADS + head) * HEAD_DIM + offs_d, out.to(Out.dtype.element_ty))


class Cache:
    """A cache with pages in random order, (pages, PAGE, kv heads, dim), and what it holds."""

    def __init__(self, lengths, page, kv_heads, head_dim):
        self.lengths = np.array(lengths, np.int32)
        counts = [triton.cdiv(n, page) for n in lengths]
        self.pages = np.random.default_rng(7).permutation(sum(counts) + 5).astype(np.int32)
        self.table = np.full((len(lengths), max(counts)), 1 << 20, np.int32)
        for row, count, stop in zip(self.table, counts, np.cumsum(counts)):
            row[:count] = self.pages[stop - count : stop]
        shape = (len(self.pages), page, kv_heads, head_dim)
        self.k, self.v = random(shape, "fp16", 1), random(shape, "fp16", 2)
        self.page = page

    def sequence(self, i):
        """Keys and values of one sequence in float64, (length, kv heads, dim)."""
        pages = self.table[i, : triton.cdiv(int(self.lengths[i]), self.page)]
        for cache in (self.k, self.v):
            yield np.concatenate(cache[pages])[: self.lengths[i]].astype(np.float64)


def reference(q, cache):
    out = np.empty(q.shape)
    for i, rows in enumerate(q.astype(np.float64)):
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in cache.sequence(i))
        s = np.einsum("hd,nhd->hn", rows, k) * q.shape[2] ** -0.5
        p = np.exp(s - s.max(axis=1, keepdims=True))
        out[i] = np.einsum("hn,nhd->hd", p / p.sum(axis=1, keepdims=True), v)
    return out


def case(device, head_dim, page):
    lengths = [1, 77, 130, 16] if not device.on_gpu else [1, 777, 1300, 16, 2049]
    heads, kv_heads = 6, 2
    cache = Cache(lengths, page, kv_heads, head_dim)
    q = random((len(lengths), heads, head_dim), "fp16", 3)
    return q, cache, heads, kv_heads


@pytest.mark.parametrize("head_dim, page, splits", [(64, 16, 4), (128, 8, 3), (64, 1, 1)])
def test_split_decode(device, head_dim, page, splits):
    q, cache, heads, kv_heads = case(device, head_dim, page)
    batch = len(q)
    mid, lse = (
        np.empty((batch, heads, splits, head_dim), "f4"),
        np.empty((batch, heads, splits), "f4"),
    )
    mid, lse, out = device.to(mid), device.to(lse), device.output(q.shape, "fp16")
    d_q, d_k, d_v, table, lengths = map(
        device.to, (q, cache.k, cache.v, cache.table, cache.lengths)
    )
    _split_decode[(batch, kv_heads, splits)](
        d_q, d_k, d_v, table, lengths, mid, lse, head_dim**-0.5,
        *device.strides(d_q)[:2], *device.strides(d_k)[:3], *device.strides(d_v)[:3],
        cache.table.shape[1], *device.strides(lse),
        GROUP=heads // kv_heads, BLOCK_H=16, HEAD_DIM=head_dim, PAGE=page, BLOCK_N=32,
        NUM_SPLITS=splits, num_warps=4, num_stages=2,
    )  # fmt: skip
    _join_splits[(batch, heads)](
        mid, lse, out.array, lengths, *device.strides(lse), *device.strides(out.array)[:2],
        HEAD_DIM=head_dim, BLOCK_N=32, NUM_SPLITS=splits, num_warps=1,
    )  # fmt: skip
    np.testing.assert_allclose(
        out.numpy().astype(np.float64), reference(q, cache), atol=2e-3, rtol=2e-3
    )


@pytest.mark.parametrize("page", [16, 32])
def test_one_head(device, page):
    q, cache, heads, kv_heads = case(device, 64, page)
    out = device.output(q.shape, "fp16")
    arrays = map(device.to, (q, cache.k, cache.v, cache.table, cache.lengths))
    _decode_one_head[(len(q), heads)](
        out.array, *arrays, 0.125, cache.table.shape[1], heads, kv_heads, 64, page, num_warps=2
    )
    np.testing.assert_allclose(
        out.numpy().astype(np.float64), reference(q, cache), atol=2e-3, rtol=2e-3
    )
