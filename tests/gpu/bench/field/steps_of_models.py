"""Top-k of logits, optimisers, and GEMM whose sum over K is split."""

import importlib

from field_case import Case, cases_of, corpus, softmax

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
sampling = corpus("test_top_k_sampling", PACKAGE)
optimisers = corpus("test_optimizer_step", PACKAGE)
split = corpus("test_matmul_split_k", PACKAGE)


class TopK(Case):
    full, small = dict(rows=64, n=128256, k=50), dict(rows=3, n=700, k=5)
    bounds = {"values": (1e-7, 0.0)}

    def inputs(self, draw, rows, n, k):
        return {"x": draw.normal((rows, n))}

    def outputs(self, rows, n, k):
        return {"values": ((rows, k), "fp32"), "indices": ((rows, k), "i32")}

    def launch(self, a, rows, n, k):
        sampling.top_k_kernel[(rows,)](
            a.x, a.values, a.indices, n, n, K=k, K_PAD=triton.next_power_of_2(k),
            BLOCK=2048 if n > 2048 else 128,
        )  # fmt: skip

    def expected(self, xp, a, rows, n, k):
        values, indices = xp.top(xp.wide(a.x), k)
        return {"values": values, "indices": xp.wide(indices)}


class ArgmaxInRounds(Case):
    full, small = dict(rows=8192, n=1024, k=8), dict(rows=5, n=100, k=3)
    bounds = {"weights": (1e-4, 1e-7)}

    def inputs(self, draw, rows, n, k):
        return {"x": draw.normal((rows, n))}

    def outputs(self, rows, n, k):
        return {"indices": ((rows, k), "i32"), "weights": ((rows, k), "fp32")}

    def launch(self, a, rows, n, k):
        block = triton.next_power_of_2(n)
        sampling.rounds_of_argmax_kernel[(rows,)](a.x, a.indices, a.weights, n, K=k, BLOCK=block)

    def expected(self, xp, a, rows, n, k):
        values, indices = xp.top(xp.wide(a.x), k)
        return {"indices": xp.wide(indices), "weights": softmax(xp, values)}


class AdamW(Case):
    full, small = dict(n=1 << 25), dict(n=1000)
    updated = ("p", "m", "v")
    settings = (1e-2, 0.9, 0.999, 1e-8, 0.1, 5)  # rate, betas, epsilon, decay, step

    def inputs(self, draw, n):
        return {
            **{name: draw.normal(n) for name in "pm"},
            "g": draw.normal(n, "bf16"),
            "v": abs(draw.normal(n)),
        }

    def launch(self, a, n):
        optimisers.adamw_kernel[(triton.cdiv(n, 1024),)](
            a.p, a.g, a.m, a.v, *self.settings, None, n, MASTER=False, master_ptr=None, BLOCK=1024
        )

    def expected(self, xp, a, n):
        rate, beta1, beta2, epsilon, decay, step = self.settings
        p, g = xp.wide(a.p), xp.wide(a.g)
        m = beta1 * xp.wide(a.m) + (1 - beta1) * g
        v = beta2 * xp.wide(a.v) + (1 - beta2) * g * g
        update = m / (1 - beta1**step) / ((v / (1 - beta2**step)) ** 0.5 + epsilon)
        return {"p": p * (1 - rate * decay) - rate * update, "m": m, "v": v}


class SplitKGemm(Case):
    """Few rows and columns, a long K: each part has its own plane."""

    full, small = dict(m=128, n=512, k=32768, parts=16), dict(m=20, n=40, k=200, parts=3)
    bounds = {"c": (1e-3, 2e-2)}

    def inputs(self, draw, m, n, k, parts):
        return {"a": draw.normal((m, k), "fp16"), "b": draw.normal((k, n), "fp16")}

    def outputs(self, m, n, k, parts):
        return {"c": ((parts, m, n), "fp32")}

    def launch(self, a, m, n, k, parts):
        block = 64 if m > 64 else 16
        split.split_k_kernel[(triton.cdiv(m, block) * triton.cdiv(n, block), parts)](
            a.a, a.b, a.c, m, n, k, k, 1, n, 1, m * n, n, 1,
            BLOCK_M=block, BLOCK_N=block, BLOCK_K=64, SPLIT_K=parts, ATOMIC=False, num_stages=4,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k, parts):
        x, y, turn = xp.wide(a.a), xp.wide(a.b), xp.f.arange(k) // 64 % parts
        return {"c": xp.f.stack([x @ (y * (turn == z)[:, None]) for z in range(parts)])}


class SplitKReduce(Case):
    full, small = dict(m=1024, n=8192, parts=8), dict(m=20, n=40, parts=3)

    def inputs(self, draw, m, n, parts):
        return {"parts": draw.normal((parts, m, n)), "bias": draw.normal(n)}

    def outputs(self, m, n, parts):
        return {"out": ((m, n), "fp16")}

    def launch(self, a, m, n, parts):
        split.sum_parts_kernel[(triton.cdiv(m * n, 1024),)](
            a.parts, a.bias, a.out, m * n, n, PARTS=parts, BLOCK=1024
        )

    def expected(self, xp, a, m, n, parts):
        return {"out": xp.wide(a.parts).sum(axis=0) + xp.wide(a.bias)}


CASES = cases_of(dict(globals()))
