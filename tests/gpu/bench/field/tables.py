"""Rows by index: embeddings, bags and gradients, rotary embeddings, segments, histograms."""

import importlib

from field_case import Case, cases_of, corpus

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")
embedding = corpus("test_embedding", PACKAGE)
rope = corpus("test_rope", PACKAGE)
index = corpus("test_index_ops", PACKAGE)
histogram = corpus("test_histogram", PACKAGE)


class Embedding(Case):
    full, small = dict(tokens=16384, rows=32000, n=4096), dict(tokens=37, rows=50, n=300)

    def inputs(self, draw, tokens, rows, n):
        return {"ids": draw.integers(tokens, 0, rows), "table": draw.normal((rows, n), "bf16")}

    def outputs(self, tokens, rows, n):
        return {"out": ((tokens, n), "bf16")}

    def launch(self, a, tokens, rows, n):
        embedding.embedding_kernel[(triton.cdiv(tokens, 4), triton.cdiv(n, 512))](
            a.ids, a.table, a.out, -1, tokens, n, 1.0, ROWS=4, COLS=512, HAS_PADDING=False
        )

    def expected(self, xp, a, tokens, rows, n):
        return {"out": xp.wide(a.table)[xp.index(a.ids)]}


class EmbeddingGradient(Case):
    full, small = dict(tokens=16384, rows=32000, n=4096), dict(tokens=37, rows=11, n=300)
    bounds = {"dw": (1e-4, 1e-4)}
    zeroed = ("dw",)

    def inputs(self, draw, tokens, rows, n):
        return {"ids": draw.integers(tokens, 0, rows), "dy": draw.normal((tokens, n), "bf16")}

    def outputs(self, tokens, rows, n):
        return {"dw": ((rows, n), "fp32")}

    def launch(self, a, tokens, rows, n):
        embedding.embedding_gradient_kernel[(triton.cdiv(tokens, 4), triton.cdiv(n, 512))](
            a.ids, a.dy, a.dw, -1, tokens, n, ROWS=4, COLS=512
        )

    def expected(self, xp, a, tokens, rows, n):
        return {"dw": xp.add_rows(rows, a.ids, xp.wide(a.dy))}


@triton.jit
def bag_kernel(id_ptr, start_ptr, weight_ptr, table_ptr, out_ptr, n, COLS: tl.constexpr):
    """The weighted sum of a bag's rows."""
    bag = tl.program_id(0)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    first, last = tl.load(start_ptr + bag), tl.load(start_ptr + bag + 1)
    total = tl.zeros([COLS], tl.float32)
    for i in range(first, last):
        row = tl.load(id_ptr + i).to(tl.int64)
        x = tl.load(table_ptr + row * n + c, mask=c < n, other=0.0).to(tl.float32)
        total += x * tl.load(weight_ptr + i)
    tl.store(out_ptr + bag * n + c, total, mask=c < n)


class EmbeddingBag(Case):
    full = dict(bags=8192, most=40, rows=100000, n=512)
    small = dict(bags=7, most=9, rows=50, n=100)
    bounds = {"out": (1e-4, 1e-4)}

    def inputs(self, draw, bags, most, rows, n):
        lengths = draw.integers(bags, 0, most + 1, "i64")
        starts = [0]
        for length in lengths.tolist():
            starts.append(starts[-1] + length)
        return {
            "ids": draw.integers(starts[-1], 0, rows),
            "starts": draw.array(starts, "i32"),
            "weights": draw.normal(starts[-1]),
            "table": draw.normal((rows, n), "fp16"),
        }

    def outputs(self, bags, most, rows, n):
        return {"out": ((bags, n), "fp32")}

    def launch(self, a, bags, most, rows, n):
        bag_kernel[(bags, triton.cdiv(n, 512))](
            a.ids, a.starts, a.weights, a.table, a.out, n, COLS=512, num_warps=2
        )

    def expected(self, xp, a, bags, most, rows, n):
        starts = xp.index(a.starts)
        place = xp.f.arange(len(a.ids))
        bag = (place[:, None] >= starts[None, 1:]).sum(axis=1)
        values = xp.wide(a.table)[xp.index(a.ids)] * xp.wide(a.weights)[:, None]
        return {"out": xp.add_rows(bags, bag, values)}


def turned(xp, first, second, cos, sin):
    """Both parts of a pair turned by an angle."""
    return first * cos - second * sin, second * cos + first * sin


class RopeOfHalves(Case):
    full = dict(tokens=16384, heads=32, kv_heads=8, dim=128)
    small = dict(tokens=21, heads=6, kv_heads=2, dim=16)
    updated = ("q", "k")
    bounds = {"q": (3.2e-2, 3.2e-2), "k": (3.2e-2, 3.2e-2)}

    def inputs(self, draw, tokens, heads, kv_heads, dim):
        angle = draw.wide(draw.normal((tokens, dim // 2), "fp32", 3.0))
        return {
            "q": draw.normal((tokens, heads, dim), "bf16"),
            "k": draw.normal((tokens, kv_heads, dim), "bf16"),
            "cos": draw.narrow(draw.f.cos(angle)),
            "sin": draw.narrow(draw.f.sin(angle)),
            "position": draw.permutation(tokens, "i64"),
        }

    def launch(self, a, tokens, heads, kv_heads, dim):
        powers = map(triton.next_power_of_2, (heads, kv_heads, dim))
        rope.rope_half_kernel[(tokens,)](
            a.q, heads * dim, a.k, kv_heads * dim, a.cos, a.sin, a.position, heads, kv_heads, dim,
            *powers,
        )  # fmt: skip

    def expected(self, xp, a, tokens, heads, kv_heads, dim):
        place = xp.index(a.position)
        cos, sin = (xp.wide(x)[place][:, None] for x in (a.cos, a.sin))
        results = {}
        for name in "qk":
            x = xp.wide(getattr(a, name))
            parts = turned(xp, x[..., : dim // 2], x[..., dim // 2 :], cos, sin)
            results[name] = xp.f.concatenate(parts, axis=-1)
        return results


class RopeOfNeighbours(Case):
    full = dict(tokens=8192, heads=32, dim=128)
    small = dict(tokens=21, heads=3, dim=16)
    # Angles are fp32, so they are off by roundings of up to `tokens` radians.
    bounds = {"out": (4e-3, 3e-2)}

    def inputs(self, draw, tokens, heads, dim):
        return {"x": draw.normal((tokens, heads, dim), "fp16")}

    def outputs(self, tokens, heads, dim):
        return {"out": ((tokens, heads, dim), "fp16")}

    def launch(self, a, tokens, heads, dim):
        rope.rope_interleaved_kernel[(triton.cdiv(tokens, 16), heads)](
            a.out, a.x, tokens, heads, 10000.0, heads * dim, dim,
            ROTARY=dim, HEAD_DIM=dim, BLOCK_T=16,
        )  # fmt: skip

    def expected(self, xp, a, tokens, heads, dim):
        pairs = xp.wide(xp.f.arange(dim // 2))
        angle = xp.wide(xp.f.arange(tokens))[:, None] * 10000.0 ** (-2 * pairs / dim)
        cos, sin = xp.f.cos(angle)[:, None], xp.f.sin(angle)[:, None]
        x = xp.wide(a.x)
        parts = turned(xp, x[..., ::2], x[..., 1::2], cos, sin)
        return {"out": xp.f.stack(parts, -1).reshape(tokens, heads, dim)}


class RaggedSegments(Case):
    """Sums and maxima of runs of rows whose ends memory has."""

    full = dict(lengths=(900, 1, 3000, 128, 77, 4000, 2048, 512, 5000, 718), n=2048)
    small = dict(lengths=(9, 1, 20), n=100)
    bounds = {"total": (1e-4, 1e-3)}

    def inputs(self, draw, lengths, n):
        ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        return {"x": draw.normal((ends[-1], n)), "ends": draw.array(ends, "i32")}

    def outputs(self, lengths, n):
        return {name: ((len(lengths), n), "fp32") for name in ("total", "largest")}

    def launch(self, a, lengths, n):
        index.segment_kernel[(len(lengths), triton.cdiv(n, 64))](
            a.x, a.ends, a.total, a.largest, n, ROWS=32, COLS=64
        )

    def expected(self, xp, a, lengths, n):
        x, starts = xp.wide(a.x), [sum(lengths[:i]) for i in range(len(lengths))]
        runs = [x[start : start + length] for start, length in zip(starts, lengths)]
        total = xp.f.stack([run.sum(axis=0) for run in runs])
        return {"total": total, "largest": xp.f.stack([xp.f.amax(run, axis=0) for run in runs])}


class Histogram(Case):
    full = dict(n=1 << 26, bins=256, programs=528, block=4096)
    small = dict(n=1000, bins=16, programs=3, block=128)
    zeroed = ("counts",)

    def inputs(self, draw, n, bins, programs, block):
        return {"x": draw.integers(n, 0, bins, "u8")}

    def outputs(self, n, bins, programs, block):
        return {"counts": (bins, "i32")}

    def launch(self, a, n, bins, programs, block):
        histogram.private_kernel[(programs,)](a.x, a.counts, n, BINS=bins, BLOCK=block)

    def expected(self, xp, a, n, bins, programs, block):
        return {"counts": xp.wide(xp.f.bincount(xp.index(a.x), minlength=bins))}


CASES = cases_of(dict(globals()))
