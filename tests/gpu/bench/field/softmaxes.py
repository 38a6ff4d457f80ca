"""Softmax of long rows, under a mask, in parts that programs share, and backward."""

import importlib

from field_case import Case, cases_of, corpus, softmax

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
kernels = corpus("test_online_softmax", PACKAGE)


class OnlineSoftmax(Case):
    full, small = dict(rows=2048, n=50257), dict(rows=5, n=700)
    bounds = {"out": (2e-2, 1e-8)}

    def inputs(self, draw, rows, n):
        return {
            "x": draw.normal((rows, n), "bf16"),
            "temperature": draw.narrow(0.5 + abs(draw.wide(draw.normal(rows)))),
        }

    def outputs(self, rows, n):
        return {"out": ((rows, n), "bf16")}

    def launch(self, a, rows, n):
        tile = 4096 if n > 4096 else 256
        kernels.online_softmax_kernel[(rows,)](
            a.out, a.x, a.temperature, n, TILE=tile, FEW_TILES=False, num_warps=8
        )

    def expected(self, xp, a, rows, n):
        return {"out": softmax(xp, xp.wide(a.x) / xp.wide(a.temperature)[:, None])}


class MaskedSoftmax(Case):
    full, small = dict(rows=65536, n=1000), dict(rows=13, n=77)
    bounds = {"out": (5e-6, 1e-9)}

    def inputs(self, draw, rows, n):
        mask = draw.integers((rows, n), 0, 2, "u8")
        mask[3] = 0
        return {"x": draw.normal((rows, n)), "mask": mask}

    def outputs(self, rows, n):
        return {"out": ((rows, n), "fp32")}

    def launch(self, a, rows, n):
        kernels.masked_softmax_kernel[(triton.cdiv(rows, 4),)](
            a.out, a.x, a.mask, rows, n, ROWS=4, COLS=triton.next_power_of_2(n)
        )

    def expected(self, xp, a, rows, n):
        keep = xp.wide(a.mask)
        e = xp.f.exp(xp.wide(a.x)) * keep
        total = e.sum(axis=1, keepdims=True)
        return {"out": e / (total + 1.0 * (total == 0))}


class SoftmaxBackward(Case):
    full, small = dict(rows=16384, n=4096), dict(rows=7, n=300)

    def inputs(self, draw, rows, n):
        y = softmax(draw, draw.wide(draw.normal((rows, n))))
        return {"y": draw.narrow(y), "dy": draw.normal((rows, n))}

    def outputs(self, rows, n):
        return {"dx": ((rows, n), "fp32")}

    def launch(self, a, rows, n):
        block = triton.next_power_of_2(n)
        kernels.softmax_backward_kernel[(rows,)](a.dx, a.dy, a.y, n, BLOCK=block, num_warps=8)

    def expected(self, xp, a, rows, n):
        y, dy = xp.wide(a.y), xp.wide(a.dy)
        return {"dx": y * (dy - (y * dy).sum(axis=1, keepdims=True))}


class SoftmaxStatistics(Case):
    full, small = dict(rows=512, n=128256, block=8192), dict(rows=3, n=1000, block=256)

    def inputs(self, draw, rows, n, block):
        return {"x": draw.normal((rows, n))}

    def outputs(self, rows, n, block):
        parts = -(-n // block)
        return {"m": ((rows, parts), "fp32"), "d": ((rows, parts), "fp32")}

    def launch(self, a, rows, n, block):
        parts = triton.cdiv(n, block)
        kernels.split_stats_kernel[(rows, parts)](a.m, a.d, a.x, n, parts, BLOCK=block)

    def expected(self, xp, a, rows, n, block):
        x = xp.wide(a.x)
        parts = [x[:, first : first + block] for first in range(0, n, block)]
        best = [xp.f.amax(part, axis=1) for part in parts]
        sums = [xp.f.exp(part - m[:, None]).sum(axis=1) for part, m in zip(parts, best)]
        return {"m": xp.f.stack(best, 1), "d": xp.f.stack(sums, 1)}


CASES = cases_of(dict(globals()))
