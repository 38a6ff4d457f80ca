"""A layer of experts: routing by rounds and by a sort, the gathered GEMM, the sum of experts."""

import importlib

from field_case import Case, cases_of, corpus, softmax

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")
moe = corpus("test_moe", PACKAGE)


class ExpertRouting(Case):
    full, small = dict(tokens=16384, experts=128, k=8), dict(tokens=13, experts=20, k=3)
    bounds = {"weights": (1e-4, 1e-7)}

    def inputs(self, draw, tokens, experts, k):
        return {"logits": draw.normal((tokens, experts))}

    def outputs(self, tokens, experts, k):
        return {"weights": ((tokens, k), "fp32"), "ids": ((tokens, k), "i32")}

    def launch(self, a, tokens, experts, k):
        width = triton.next_power_of_2(experts)
        moe.route_kernel[(triton.cdiv(tokens, 8),)](
            a.logits, a.weights, a.ids, tokens, EXPERTS=experts, WIDTH=width, TOP_K=k,
            RENORMALIZE=True, ROWS=8,
        )  # fmt: skip

    def expected(self, xp, a, tokens, experts, k):
        best, ids = xp.top(xp.wide(a.logits), k)
        return {"weights": softmax(xp, best), "ids": xp.wide(ids)}


class ExpertRoutingBySort(Case):
    full, small = dict(tokens=16384, experts=128, k=8), dict(tokens=13, experts=20, k=4)
    bounds = {"weights": (1e-4, 1e-7)}
    inputs, outputs = ExpertRouting.inputs, ExpertRouting.outputs
    expected = ExpertRouting.expected

    def launch(self, a, tokens, experts, k):
        width = triton.next_power_of_2(experts)
        moe.packed_top_k_kernel[(tokens,)](
            a.logits, a.weights, a.ids, EXPERTS=experts, WIDTH=width, TOP_K=k, num_warps=1
        )


class ExpertGemm(Case):
    """Rows gathered by a table times the matrix of their block's expert."""

    full = dict(tokens=4096, experts=32, k=2, n=4096, depth=2048, block=(128, 128, 64))
    small = dict(tokens=16, experts=3, k=2, n=72, depth=80, block=(16, 32, 32))
    bounds = {"out": (2e-3, 2e-2)}

    def inputs(self, draw, tokens, experts, k, n, depth, block):
        rows = tokens * k
        return {
            "x": draw.normal((tokens, depth), "fp16"),
            "w": draw.normal((experts, n, depth), "fp16"),
            "order": draw.permutation(rows),
            "expert": draw.integers(rows // block[0], 0, experts),
            "weight": draw.normal(rows),
            "padded": draw.array([rows], "i32"),
        }

    def outputs(self, tokens, experts, k, n, depth, block):
        return {"out": ((tokens * k, n), "fp16")}

    def launch(self, a, tokens, experts, k, n, depth, block):
        bm, bn, bk = block
        moe.expert_product_kernel[(triton.cdiv(tokens * k, bm) * triton.cdiv(n, bn),)](
            a.x, a.w, a.out, a.weight, a.order, a.expert, a.padded, n, depth, tokens * k,
            depth, 1, n * depth, 1, depth, n, 1, BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, GROUP_M=8,
            TOP_K=k, WEIGH=True, compute_type=tl.float16, num_stages=3, num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, tokens, experts, k, n, depth, block):
        x, order = xp.wide(a.x), xp.index(a.order)
        parts = []
        for i in range(tokens * k // block[0]):
            rows = order[i * block[0] : (i + 1) * block[0]]
            parts.append(x[rows // k] @ xp.wide(a.w[int(a.expert[i])]).T)
        out = xp.f.concatenate(parts)[xp.f.argsort(order)]
        return {"out": out * xp.wide(a.weight)[:, None]}


class SumOfExperts(Case):
    full, small = dict(tokens=4096, k=8, n=4096), dict(tokens=5, k=3, n=300)

    def inputs(self, draw, tokens, k, n):
        return {"x": draw.normal((tokens, k, n), "bf16")}

    def outputs(self, tokens, k, n):
        return {"out": ((tokens, n), "bf16")}

    def launch(self, a, tokens, k, n):
        moe.sum_experts_kernel[(tokens, triton.cdiv(n, 1024))](a.x, a.out, n, TOP_K=k, BLOCK=1024)

    def expected(self, xp, a, tokens, k, n):
        return {"out": xp.wide(a.x).sum(axis=1)}


CASES = cases_of(dict(globals()))
