"""Attention of serving: decoding over a paged cache, merged states, sequences of any length."""

import importlib
from pathlib import Path

from field_case import Case, cases_of, corpus, log_sum_exp, softmax
from kernels import load

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
paged = corpus("test_paged_attention", PACKAGE)
ragged = load(PACKAGE, Path(__file__).resolve().parents[1] / "ragged.py")
DIM = 128


def paged_inputs(draw, batch, heads, kv_heads, page, least, most):
    """Queries, a cache of pages in random order, its table, and the lengths."""
    pages = -(-most // page)
    cache = (batch * pages, page, kv_heads, DIM)
    return {
        "q": draw.normal((batch, heads, DIM), "fp16"),
        "k": draw.normal(cache, "fp16"),
        "v": draw.normal(cache, "fp16"),
        "table": draw.permutation(batch * pages).reshape(batch, pages),
        "lengths": draw.integers(batch, least, most + 1),
    }


def sequences(xp, a):
    """Queries, keys and values of each sequence, (heads, ..., dim) in float64, and its length."""
    batch, heads, _ = a.q.shape
    groups = heads // a.k.shape[2]
    for i in range(batch):
        length, pages = int(a.lengths[i]), xp.index(a.table[i])
        both = [
            xp.f.swapaxes(xp.wide(x[pages]).reshape(-1, *x.shape[2:])[:length], 0, 1)
            for x in (a.k, a.v)
        ]
        head = xp.f.arange(heads) // groups
        yield xp.wide(a.q[i])[:, None], both[0][head], both[1][head], length


class PagedDecodeInSplits(Case):
    full = dict(batch=32, heads=32, kv_heads=8, page=16, least=3600, most=8192, splits=8, block=64)
    small = dict(batch=2, heads=8, kv_heads=2, page=8, least=40, most=70, splits=2, block=16)
    bounds = {"mid": (2e-3, 2e-3), "lse": (1e-3, 1e-3)}

    def inputs(self, draw, batch, heads, kv_heads, page, least, most, splits, block):
        return paged_inputs(draw, batch, heads, kv_heads, page, least, most)

    def outputs(self, batch, heads, splits, **rest):
        shape = (batch, heads, splits)
        return {"mid": ((*shape, DIM), "fp32"), "lse": (shape, "fp32")}

    def launch(self, a, batch, heads, kv_heads, page, least, most, splits, block):
        row = kv_heads * DIM
        paged._split_decode[(batch, kv_heads, splits)](
            a.q, a.k, a.v, a.table, a.lengths, a.mid, a.lse, DIM**-0.5, heads * DIM, DIM,
            page * row, row, DIM, page * row, row, DIM, a.table.shape[1],
            heads * splits, splits, 1, GROUP=heads // kv_heads, BLOCK_H=16, HEAD_DIM=DIM,
            PAGE=page, BLOCK_N=block, NUM_SPLITS=splits, num_stages=2,
        )  # fmt: skip

    def expected(self, xp, a, splits, block, **rest):
        mid, lse = [], []
        for q, k, v, length in sequences(xp, a):
            scores = (q @ xp.f.swapaxes(k, 1, 2))[:, 0] * DIM**-0.5
            step = -(--(-length // splits) // block) * block
            cuts = [slice(i * step, min((i + 1) * step, length)) for i in range(splits)]
            weights = [softmax(xp, scores[:, cut])[:, None] for cut in cuts]
            parts = [(w @ v[:, cut])[:, 0] for w, cut in zip(weights, cuts)]
            mid.append(xp.f.stack(parts, 1))
            lse.append(xp.f.stack([log_sum_exp(xp, scores[:, cut])[:, 0] for cut in cuts], 1))
        return {"mid": xp.f.stack(mid), "lse": xp.f.stack(lse)}


class MergeAttentionStates(Case):
    full, small = dict(batch=64, heads=64, splits=16), dict(batch=3, heads=2, splits=4)
    bounds = {"out": (2e-3, 2e-3)}

    def inputs(self, draw, batch, heads, splits):
        shape = (batch, heads, splits)
        return {
            "mid": draw.normal((*shape, DIM)),
            "lse": draw.normal(shape),
            "lengths": draw.array([splits * 64] * batch, "i32"),
        }

    def outputs(self, batch, heads, splits):
        return {"out": ((batch, heads, DIM), "fp16")}

    def launch(self, a, batch, heads, splits):
        paged._join_splits[(batch, heads)](
            a.mid, a.lse, a.out, a.lengths, heads * splits, splits, 1, heads * DIM, DIM,
            HEAD_DIM=DIM, BLOCK_N=64, NUM_SPLITS=splits, num_warps=1,
        )  # fmt: skip

    def expected(self, xp, a, batch, heads, splits):
        weights = softmax(xp, xp.wide(a.lse))[..., None]
        return {"out": (weights * xp.wide(a.mid)).sum(axis=2)}


class DecodeOneHead(Case):
    full = dict(batch=32, heads=32, kv_heads=8, page=16, least=1000, most=4096)
    small = dict(batch=2, heads=4, kv_heads=2, page=8, least=1, most=40)

    def inputs(self, draw, batch, heads, kv_heads, page, least, most):
        return paged_inputs(draw, batch, heads, kv_heads, page, least, most)

    def outputs(self, batch, heads, **rest):
        return {"out": ((batch, heads, DIM), "fp16")}

    def launch(self, a, batch, heads, kv_heads, page, least, most):
        paged._decode_one_head[(batch, heads)](
            a.out, a.q, a.k, a.v, a.table, a.lengths, DIM**-0.5, a.table.shape[1],
            HEADS=heads, KV_HEADS=kv_heads, HEAD_DIM=DIM, PAGE=page,
        )  # fmt: skip

    def expected(self, xp, a, **rest):
        out = []
        for q, k, v, _ in sequences(xp, a):
            out.append((softmax(xp, q @ xp.f.swapaxes(k, 1, 2) * DIM**-0.5) @ v)[:, 0])
        return {"out": xp.f.stack(out)}


class VarlenAttention(Case):
    """Sequences of any length, head dimension 64."""

    full = dict(lengths=(3871, 200, 1553, 2999, 640, 4000, 777, 2048), heads=16, block=(128, 64))
    small = dict(lengths=(37, 1, 70), heads=2, block=(32, 16))

    def inputs(self, draw, lengths, heads, block):
        ends = [0]
        for length in lengths:
            ends.append(ends[-1] + length)
        drawn = {name: draw.normal((ends[-1], heads, 64), "fp16") for name in "qkv"}
        return {**drawn, "starts": draw.array(ends, "i32")}

    def outputs(self, lengths, heads, block):
        return {"out": ((sum(lengths), heads, 64), "fp16")}

    def launch(self, a, lengths, heads, block):
        grid = (triton.cdiv(max(lengths), block[0]), heads, len(lengths))
        ragged.varlen[grid](
            a.q, a.k, a.v, a.out, a.starts, 0.125, H=heads, D=64, BM=block[0], BN=block[1],
            num_stages=3, num_warps=4,
        )  # fmt: skip

    def expected(self, xp, a, lengths, heads, block):
        out, first = [], 0
        for length in lengths:
            rows = slice(first, first + length)
            q, k, v = (xp.f.swapaxes(xp.wide(x[rows]), 0, 1) for x in (a.q, a.k, a.v))
            weights = softmax(xp, q @ xp.f.swapaxes(k, 1, 2) * 0.125)
            out.append(xp.f.swapaxes(weights @ v, 0, 1))
            first += length
        return {"out": xp.f.concatenate(out)}


CASES = cases_of(dict(globals()))
