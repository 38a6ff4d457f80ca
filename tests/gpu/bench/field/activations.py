"""Gated activations: SwiGLU and GEGLU, forward and backward in place."""

import importlib

from field_case import Case, cases_of, corpus, sigmoid

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
gated = corpus("test_gated_activations", PACKAGE)
ROOT = (2 / 3.141592653589793) ** 0.5


def gelu(xp, x):
    """GELU by tanh, and its derivative."""
    t = xp.f.tanh(ROOT * (x + 0.044715 * x**3))
    slope = ROOT * (1 + 3 * 0.044715 * x * x)
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope


class SwigluForward(Case):
    full, small = dict(rows=4096, n=11008), dict(rows=7, n=685)

    def inputs(self, draw, rows, n):
        return {name: draw.normal((rows, n), "bf16") for name in "ab"}

    def outputs(self, rows, n):
        return {"c": ((rows, n), "bf16")}

    def launch(self, a, rows, n):
        block = triton.next_power_of_2(n)
        gated.swiglu_forward_kernel[(rows,)](
            a.a, a.b, a.c, n, n_cols=n, BLOCK_SIZE=block, num_warps=16 if n > 8192 else 4
        )

    def expected(self, xp, a, rows, n):
        x = xp.wide(a.a)
        return {"c": x * sigmoid(xp, x) * xp.wide(a.b)}


class SwigluBackward(Case):
    full, small = dict(rows=4096, n=11008), dict(rows=7, n=685)
    updated = ("a", "b")
    bounds = {"a": (2.4e-2, 2.4e-2), "b": (2.4e-2, 2.4e-2)}

    def inputs(self, draw, rows, n):
        return {name: draw.normal((rows, n), "bf16") for name in ("dc", "a", "b")}

    def launch(self, a, rows, n):
        block = triton.next_power_of_2(n)
        gated.swiglu_backward_kernel[(rows,)](
            a.dc, a.a, a.b, n, n_cols=n, BLOCK_SIZE=block, num_warps=16 if n > 8192 else 4
        )

    def expected(self, xp, a, rows, n):
        x, b, dc = xp.wide(a.a), xp.wide(a.b), xp.wide(a.dc)
        s = sigmoid(xp, x)
        return {"a": dc * b * (x * s * (1 - s) + s), "b": dc * x * s}


class GegluForward(Case):
    full, small = dict(rows=4096, n=11008), dict(rows=11, n=300)

    def inputs(self, draw, rows, n):
        return {"x": draw.normal((rows, 2 * n), "bf16")}

    def outputs(self, rows, n):
        return {"out": ((rows, n), "bf16")}

    def launch(self, a, rows, n):
        grid = (triton.cdiv(rows, 8), triton.cdiv(n, 256))
        gated.geglu_packed_forward_kernel.fn[grid](
            a.x, a.out, rows, n, 2 * n, n, EXACT=False, BLOCK_M=8, BLOCK_N=256, num_warps=8
        )

    def expected(self, xp, a, rows, n):
        x = xp.wide(a.x)
        return {"out": gelu(xp, x[:, :n])[0] * x[:, n:]}


class GegluBackward(Case):
    full, small = dict(rows=4096, n=11008), dict(rows=11, n=300)
    updated = ("x",)
    bounds = {"x": (2.4e-2, 2.4e-2)}

    def inputs(self, draw, rows, n):
        return {"x": draw.normal((rows, 2 * n), "bf16"), "dy": draw.normal((rows, n), "bf16")}

    def launch(self, a, rows, n):
        gated.geglu_packed_backward_kernel[(triton.cdiv(rows * n, 1024),)](
            a.x, a.dy, rows * n, n, EXACT=False, BLOCK_SIZE=1024
        )

    def expected(self, xp, a, rows, n):
        x, dy = xp.wide(a.x), xp.wide(a.dy)
        y, slope = gelu(xp, x[:, :n])
        return {"x": xp.f.concatenate([dy * x[:, n:] * slope, dy * y], axis=1)}


CASES = cases_of(dict(globals()))
