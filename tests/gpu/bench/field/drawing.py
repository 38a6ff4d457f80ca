"""Kernels that draw: dropout from a seed, exactly, and the next token by top-k, top-p and min-p."""

import importlib

from field_case import Case, cases_of, corpus, softmax

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
dropping = corpus("test_dropout", PACKAGE)
sampling = corpus("test_sampling", PACKAGE)
WORD = 0xFFFFFFFF


def philox(counter, seed):
    """The first word of Philox-4x32-10 for each counter below 2^32, in 64-bit integers."""
    words, keys = [counter, 0 * counter, 0 * counter, 0 * counter], [seed & WORD, seed >> 32]
    for _ in range(10):
        # Products wrap around at 64 bits, which leaves both halves right.
        first, second = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            (second >> 32 & WORD) ^ words[1] ^ keys[0],
            second & WORD,
            (first >> 32 & WORD) ^ words[3] ^ keys[1],
            first & WORD,
        ]
        keys = [keys[0] + 0x9E3779B9 & WORD, keys[1] + 0xBB67AE85 & WORD]
    return words[0]


class SeededDropout(Case):
    full, small = dict(n=1 << 25, seed=1234), dict(n=1000, seed=77)
    bounds = {"out": (1e-6, 0.0)}

    def inputs(self, draw, n, seed):
        return {"x": draw.normal(n)}

    def outputs(self, n, seed):
        return {"out": (n, "fp32")}

    def launch(self, a, n, seed):
        dropping.seeded_dropout_kernel[(triton.cdiv(n, 1024),)](
            a.x, a.out, n, 0.3, seed, BLOCK_SIZE=1024
        )

    def expected(self, xp, a, n, seed):
        bits = philox(xp.f.arange(n), seed)
        signed = bits - (bits > 0x7FFFFFFF) * (1 << 32)
        positive = abs(signed) - 1 * (signed < 0)
        # In fp32 as in the language, since a share of 2^-25 of all numbers lies that close to 0.3.
        uniform = xp.wide(xp.narrow(positive) * 4.6566127342e-10)
        keep = uniform > float(xp.narrow(xp.wide(xp.f.ones(1)) * 0.3)[0])
        return {"out": xp.wide(a.x) / 0.7 * keep}


class SampleToken(Case):
    # Few candidates: sums of fp32 decide as float64 unless the number drawn lies next to one.
    full, small = dict(rows=256, n=4000), dict(rows=5, n=300)

    def inputs(self, draw, rows, n):
        def uniform(least, most):
            share = draw.wide(draw.integers(rows, 1, 1 << 20)) / (1 << 20)
            return draw.narrow(least + (most - least) * share)

        return {
            "logits": draw.normal((rows, n), "fp32", 3.0),
            "uniform": uniform(0.0, 1.0),
            "k": draw.integers(rows, 1, 20),
            "top_p": uniform(0.3, 1.0),
            "min_p": uniform(0.0, 0.1),
        }

    def outputs(self, rows, n):
        return {"token": (rows, "i32"), "kept": (rows, "i32")}

    def launch(self, a, rows, n):
        sampling.sample_kernel[(rows,)](
            a.logits, a.uniform, a.k, a.top_p, a.min_p, a.token, a.kept, n,
            WIDTH=triton.next_power_of_2(n), num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, rows, n):
        values, order = xp.top(xp.wide(a.logits), n)
        p, rank = softmax(xp, values), xp.f.arange(n)[None, :]
        before = xp.f.cumsum(p, axis=1) - p
        keep = (rank < xp.index(a.k)[:, None]) & (before < xp.wide(a.top_p)[:, None])
        keep = keep & (p >= xp.wide(a.min_p)[:, None] * p[:, :1])
        p, kept = p * keep, keep.sum(axis=1)
        passed = xp.f.cumsum(p, axis=1) <= (xp.wide(a.uniform) * p.sum(axis=1))[:, None]
        place = xp.f.minimum(passed.sum(axis=1), kept - 1)[:, None]
        return {"token": xp.wide((order * (rank == place)).sum(axis=1)), "kept": xp.wide(kept)}


CASES = cases_of(dict(globals()))
