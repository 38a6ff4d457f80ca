"""Losses over a vocabulary: cross entropy fused and in chunks, of a linear layer, KL, GRPO."""

import importlib

from field_case import Case, cases_of, corpus, log_sum_exp, softmax

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")
kernels = corpus("test_cross_entropy", PACKAGE)
linear = corpus("test_linear_cross_entropy", PACKAGE)


def one_hot(xp, labels, n):
    """Rows of zeros with a one at the label."""
    return 1.0 * (xp.index(labels)[:, None] == xp.f.arange(n)[None, :])


def picked(xp, x, labels):
    """The element of each row at its label."""
    return (x * one_hot(xp, labels, x.shape[1])).sum(axis=1)


class FusedCrossEntropy(Case):
    full, small = dict(rows=4096, n=32000), dict(rows=13, n=1003)
    updated = ("x",)
    bounds = {"x": (1.6e-2, 1e-7), "loss": (1e-4, 1e-7)}

    def inputs(self, draw, rows, n):
        return {"x": draw.normal((rows, n), "bf16"), "labels": draw.integers(rows, 0, n, "i64")}

    def outputs(self, rows, n):
        return {"loss": (rows, "fp32")}

    def launch(self, a, rows, n):
        kernels.fused_cross_entropy_kernel[(rows,)](
            a.x, n, a.labels, 1, a.loss, None, n, rows, -100, lse_square_scale=0.0,
            label_smoothing=0.0, softcap=None, RETURN_Z_LOSS=False, HAS_SOFTCAPPING=False,
            BLOCK_SIZE=4096 if n > 4096 else 512, num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, rows, n):
        x = xp.wide(a.x)
        lse = log_sum_exp(xp, x)
        loss = (lse[:, 0] - picked(xp, x, a.labels)) / rows
        return {"x": (xp.f.exp(x - lse) - one_hot(xp, a.labels, n)) / rows, "loss": loss}


class LogSumExpInChunks(Case):
    full, small = dict(rows=4096, n=32000, block=4096), dict(rows=13, n=1003, block=256)

    def inputs(self, draw, rows, n, block):
        return {"x": draw.normal((rows, n)), "labels": draw.integers(rows, 0, n, "i64")}

    def outputs(self, rows, n, block):
        shape = (-(-n // block), rows)
        return {"loss": (shape, "fp32"), "lse": (shape, "fp32")}

    def launch(self, a, rows, n, block):
        kernels.chunk_forward_kernel[(rows, triton.cdiv(n, block))](
            a.loss, a.lse, a.x, a.labels, 0.0, -100, n, n, rows, BLOCK_SIZE=block
        )

    def expected(self, xp, a, rows, n, block):
        x, hot = xp.wide(a.x), one_hot(xp, a.labels, n)
        chunks = [slice(first, first + block) for first in range(0, n, block)]
        lse = [log_sum_exp(xp, x[:, chunk])[:, 0] for chunk in chunks]
        loss = [-(x * hot)[:, chunk].sum(axis=1) for chunk in chunks]
        return {"lse": xp.f.stack(lse), "loss": xp.f.stack(loss)}


class CrossEntropyBackwardInChunks(Case):
    full, small = dict(rows=4096, n=32000, block=4096), dict(rows=13, n=1003, block=256)

    def inputs(self, draw, rows, n, block):
        x = draw.normal((rows, n), "bf16")
        return {
            "x": x,
            "labels": draw.integers(rows, 0, n, "i64"),
            "lse": draw.narrow(log_sum_exp(draw, draw.wide(x))[:, 0]),
            "dloss": draw.normal(rows),
        }

    def outputs(self, rows, n, block):
        return {"dx": ((rows, n), "bf16")}

    def launch(self, a, rows, n, block):
        kernels.chunk_backward_kernel[(rows, triton.cdiv(n, block))](
            a.dx, a.dloss, a.x, a.lse, a.labels, 0.0, -100, n, n, block
        )

    def expected(self, xp, a, rows, n, block):
        grad = softmax(xp, xp.wide(a.x)) - one_hot(xp, a.labels, n)
        return {"dx": grad * xp.wide(a.dloss)[:, None]}


class LinearCrossEntropy(Case):
    """Partial log-sum-exps of a GEMM whose logits are not stored."""

    full = dict(rows=4096, n=32000, depth=2048, parts=4)
    small = dict(rows=50, n=300, depth=96, parts=3)
    bounds = {"sums": (1e-2, 1e-2), "found": (1e-2, 2e-2)}

    def part(self, n, parts):
        return -(--(-n // parts) // 128) * 128

    def inputs(self, draw, rows, n, depth, parts):
        return {
            "x": draw.normal((rows, depth), "bf16"),
            "w": draw.normal((n, depth), "bf16", 0.05),
            "labels": draw.integers(rows, 0, n),
        }

    def outputs(self, rows, n, depth, parts):
        return {"sums": ((parts, rows), "fp32"), "found": ((parts, rows), "fp32")}

    def launch(self, a, rows, n, depth, parts):
        m, k = (128, 64) if rows > 128 else (32, 32)
        linear.partial_kernel[(triton.cdiv(rows, m), parts)](
            a.x, a.w, a.labels, a.sums, a.found, rows, n, self.part(n, parts),
            depth, m, 128, k, num_warps=8, num_stages=3,
        )  # fmt: skip

    def expected(self, xp, a, rows, n, depth, parts):
        logits = xp.wide(a.x) @ xp.wide(a.w).T
        hot, step = one_hot(xp, a.labels, n), self.part(n, parts)
        cuts = [slice(first, first + step) for first in range(0, step * parts, step)]
        sums = [log_sum_exp(xp, logits[:, cut])[:, 0] for cut in cuts]
        found = [(logits * hot)[:, cut].sum(axis=1) for cut in cuts]
        return {"sums": xp.f.stack(sums), "found": xp.f.stack(found)}


@triton.jit
def kl_kernel(p_ptr, q_ptr, loss_ptr, dq_ptr, n, scale, BLOCK: tl.constexpr):
    """KL(P || Q) of one row of logits each, and its gradient for the logits of Q."""
    row = tl.program_id(0).to(tl.int64)
    p_ptr += row * n
    q_ptr += row * n
    dq_ptr += row * n
    best_p = tl.full([BLOCK], -1e30, tl.float32)
    best_q = tl.full([BLOCK], -1e30, tl.float32)
    sum_p = tl.zeros([BLOCK], tl.float32)
    sum_q = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + at, mask=at < n, other=-float("inf")).to(tl.float32)
        q = tl.load(q_ptr + at, mask=at < n, other=-float("inf")).to(tl.float32)
        new_p, new_q = tl.maximum(best_p, p), tl.maximum(best_q, q)
        sum_p = sum_p * tl.exp(best_p - new_p) + tl.exp(p - new_p)
        sum_q = sum_q * tl.exp(best_q - new_q) + tl.exp(q - new_q)
        best_p, best_q = new_p, new_q
    top_p, top_q = tl.max(best_p, 0), tl.max(best_q, 0)
    lse_p = top_p + tl.log(tl.sum(sum_p * tl.exp(best_p - top_p), 0))
    lse_q = top_q + tl.log(tl.sum(sum_q * tl.exp(best_q - top_q), 0))
    loss = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        log_p = tl.load(p_ptr + at, mask=inside, other=0.0).to(tl.float32) - lse_p
        log_q = tl.load(q_ptr + at, mask=inside, other=0.0).to(tl.float32) - lse_q
        p = tl.exp(log_p)
        loss += tl.where(inside, p * (log_p - log_q), 0.0)
        tl.store(dq_ptr + at, (tl.exp(log_q) - p) * scale, mask=inside)
    tl.store(loss_ptr + row, tl.sum(loss, 0) * scale)


class KlDivergence(Case):
    full, small = dict(rows=2048, n=50257), dict(rows=5, n=777)
    bounds = {"loss": (1e-4, 1e-6), "dq": (1.6e-2, 1e-5)}

    def inputs(self, draw, rows, n):
        return {name: draw.normal((rows, n), "bf16") for name in "pq"}

    def outputs(self, rows, n):
        return {"loss": (rows, "fp32"), "dq": ((rows, n), "bf16")}

    def launch(self, a, rows, n):
        block = 4096 if n > 4096 else 256
        kl_kernel[(rows,)](a.p, a.q, a.loss, a.dq, n, 0.5, BLOCK=block, num_warps=8)

    def expected(self, xp, a, rows, n):
        p, q = xp.wide(a.p), xp.wide(a.q)
        log_p, log_q = p - log_sum_exp(xp, p), q - log_sum_exp(xp, q)
        weights = xp.f.exp(log_p)
        loss = 0.5 * (weights * (log_p - log_q)).sum(axis=1)
        return {"loss": loss, "dq": 0.5 * (xp.f.exp(log_q) - weights)}


@triton.jit
def grpo_kernel(
    logits_ptr, token_ptr, old_ptr, reference_ptr, advantage_ptr, loss_ptr, ratio_ptr, length, n,
    low, high, beta, BLOCK: tl.constexpr,
):  # fmt: skip
    """A token's loss: the clipped ratio to the old policy times the advantage of its answer, and
    beta times the estimate e^d - d - 1 of the divergence from the reference."""
    at, answer = tl.program_id(0), tl.program_id(1)
    token = (answer * length + at).to(tl.int64)
    logits_ptr += token * n
    best = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + c, mask=c < n, other=-float("inf")).to(tl.float32)
        new = tl.maximum(best, x)
        total = total * tl.exp(best - new) + tl.exp(x - new)
        best = new
    top = tl.max(best, 0)
    lse = top + tl.log(tl.sum(total * tl.exp(best - top), 0))
    log_p = tl.load(logits_ptr + tl.load(token_ptr + token)).to(tl.float32) - lse
    ratio = tl.exp(log_p - tl.load(old_ptr + token))
    advantage = tl.load(advantage_ptr + answer)
    clipped = tl.minimum(tl.maximum(ratio, 1 - low), 1 + high)
    loss = -tl.minimum(ratio * advantage, clipped * advantage)
    apart = tl.load(reference_ptr + token) - log_p
    loss += beta * (tl.exp(apart) - apart - 1)
    tl.store(loss_ptr + token, loss)
    tl.store(ratio_ptr + token, ratio)


class GrpoLoss(Case):
    full = dict(answers=8, length=512, n=32000)
    small = dict(answers=3, length=5, n=600)
    bounds = {"loss": (1e-3, 1e-4), "ratio": (1e-3, 1e-5)}

    def inputs(self, draw, answers, length, n):
        shape = (answers, length)
        logits = draw.normal((*shape, n), "bf16")
        tokens = draw.integers(shape, 0, n)
        flat = draw.wide(logits).reshape(answers * length, n)
        exact = picked(draw, flat - log_sum_exp(draw, flat), tokens.reshape(-1)).reshape(shape)
        return {
            "logits": logits,
            "tokens": tokens,
            "old": draw.narrow(exact + 0.2 * draw.wide(draw.normal(shape))),
            "reference": draw.narrow(exact + 0.2 * draw.wide(draw.normal(shape))),
            "advantage": draw.normal(answers),
        }

    def outputs(self, answers, length, n):
        return {name: ((answers, length), "fp32") for name in ("loss", "ratio")}

    def launch(self, a, answers, length, n):
        block = 4096 if n > 4096 else 256
        grpo_kernel[(length, answers)](
            a.logits, a.tokens, a.old, a.reference, a.advantage, a.loss, a.ratio, length, n,
            0.2, 0.28, 0.04, BLOCK=block, num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, answers, length, n):
        x = xp.wide(a.logits).reshape(answers * length, n)
        log_p = picked(xp, x - log_sum_exp(xp, x), a.tokens.reshape(-1)).reshape(answers, length)
        ratio = xp.f.exp(log_p - xp.wide(a.old))
        advantage = xp.wide(a.advantage)[:, None]
        clipped = ratio.clip(0.8, 1.28)
        apart = xp.wide(a.reference) - log_p
        loss = -xp.f.minimum(ratio * advantage, clipped * advantage)
        return {"loss": loss + 0.04 * (xp.f.exp(apart) - apart - 1), "ratio": ratio}


CASES = cases_of(dict(globals()))
