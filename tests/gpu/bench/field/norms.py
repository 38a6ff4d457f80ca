"""Norms of rows: RMS forward and backward, fused with the residual, layer norm backward, groups."""

import importlib

from field_case import Case, cases_of, corpus

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
rms = corpus("test_rms_norm", PACKAGE)
group = corpus("test_group_norm", PACKAGE)
EPS = 1e-5


class RmsNorm(Case):
    full, small = dict(rows=8192, n=4096), dict(rows=9, n=519)

    def inputs(self, draw, rows, n):
        return {"x": draw.normal((rows, n), "bf16"), "w": draw.normal(n, "bf16")}

    def outputs(self, rows, n):
        return {"y": ((rows, n), "bf16"), "rstd": (rows, "fp32")}

    def launch(self, a, rows, n):
        rms.rms_norm_kernel[(rows,)](
            a.y, a.x, a.w, a.rstd, n, n, EPS, OFFSET=0.0, CAST_EARLY=False,
            BLOCK_SIZE=triton.next_power_of_2(n), num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, rows, n):
        x = xp.wide(a.x)
        rstd = ((x * x).mean(axis=1) + EPS) ** -0.5
        return {"y": x * rstd[:, None] * xp.wide(a.w), "rstd": rstd}


class RmsNormBackward(Case):
    full, small = dict(rows=8192, n=4096, programs=264), dict(rows=23, n=300, programs=4)
    bounds = {"dw": (1e-3, 1e-3)}

    def inputs(self, draw, rows, n, programs):
        x = draw.normal((rows, n), "bf16")
        wide = draw.wide(x)
        rstd = ((wide * wide).mean(axis=1) + EPS) ** -0.5
        return {
            "x": x,
            "dy": draw.normal((rows, n), "bf16"),
            "w": draw.normal(n, "bf16"),
            "rstd": draw.narrow(rstd),
        }

    def outputs(self, rows, n, programs):
        return {"dx": ((rows, n), "bf16"), "dw": ((programs, n), "fp32")}

    def launch(self, a, rows, n, programs):
        rms.rms_norm_backward_kernel[(programs,)](
            a.dx, a.dw, a.dy, a.x, a.w, a.rstd, rows, n, -(-rows // programs),
            BLOCK_SIZE=triton.next_power_of_2(n), num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, rows, n, programs):
        x, dy, w, r = xp.wide(a.x), xp.wide(a.dy), xp.wide(a.w), xp.wide(a.rstd)[:, None]
        m = dy * w
        dx = r * m - r**3 * x * (m * x).mean(axis=1, keepdims=True)
        step = -(-rows // programs)
        parts = dy * x * r
        index = xp.f.arange(rows) // step
        return {"dx": dx, "dw": xp.add_rows(programs, index, parts)}


class FusedAddRmsNorm(Case):
    full, small = dict(rows=8192, n=4096), dict(rows=5, n=360)
    updated = ("x", "residual")

    def inputs(self, draw, rows, n):
        return {
            "x": draw.normal((rows, n), "bf16"),
            "residual": draw.normal((rows, n), "bf16"),
            "w": draw.normal(n, "bf16"),
        }

    def launch(self, a, rows, n):
        block = triton.next_power_of_2(n)
        rms.fused_add_rms_norm_kernel[(rows,)](a.x, a.residual, a.w, n, n, n, EPS, block)

    def expected(self, xp, a, rows, n):
        total = xp.wide(a.x) + xp.wide(a.residual)
        rstd = ((total * total).mean(axis=1, keepdims=True) + EPS) ** -0.5
        return {"residual": total, "x": total * rstd * xp.wide(a.w)}


class GroupNorm(Case):
    full = dict(batch=32, channels=512, space=1024, groups=32)
    small = dict(batch=2, channels=12, space=35, groups=4)

    def inputs(self, draw, batch, channels, space, groups):
        return {
            "x": draw.normal((batch, channels, space), "fp16"),
            "w": draw.normal(channels, "fp16"),
            "b": draw.normal(channels, "fp16"),
        }

    def outputs(self, batch, channels, space, groups):
        many = batch * groups
        shape = (batch, channels, space)
        return {"y": (shape, "fp16"), "mean": (many, "fp32"), "rstd": (many, "fp32")}

    bounds = {"y": (4e-3, 4e-3)}

    def launch(self, a, batch, channels, space, groups):
        size = channels // groups
        group.group_norm_tile_kernel[(batch * groups,)](
            a.x, a.y, a.w, a.b, a.mean, a.rstd, size, channels, space, groups, EPS,
            HAS_AFFINE=True, BLOCK_C=triton.next_power_of_2(size),
            BLOCK_HW=triton.next_power_of_2(space), num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, batch, channels, space, groups):
        x = xp.wide(a.x).reshape(batch * groups, -1)
        mean = x.mean(axis=1)
        centred = x - mean[:, None]
        rstd = ((centred * centred).mean(axis=1) + EPS) ** -0.5
        y = (centred * rstd[:, None]).reshape(batch, channels, space)
        y = y * xp.wide(a.w)[:, None] + xp.wide(a.b)[:, None]
        return {"y": y, "mean": mean, "rstd": rstd}


CASES = cases_of(dict(globals()))
