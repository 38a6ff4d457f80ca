"""Quantising activations by token, group and tensor, and widening weights of blocks and of int4."""

import importlib

from field_case import Case, cases_of, corpus

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
kernels = corpus("test_quantise", PACKAGE)
E4M3 = 448.0
# Half a step: of integers, and of fp8 relative to the value and among subnormals.
INT8, FP8 = (0.0, 0.501), (0.0626, 1e-3)


class QuantiseByToken(Case):
    full, small = dict(rows=8192, n=8192), dict(rows=7, n=300)
    bounds = {"q": INT8, "scale": (1e-6, 0.0)}

    def inputs(self, draw, rows, n):
        return {"x": draw.normal((rows, n), "bf16")}

    def outputs(self, rows, n):
        return {"q": ((rows, n), "i8"), "scale": (rows, "fp32")}

    def launch(self, a, rows, n):
        block = 4096 if n > 4096 else 128
        kernels.per_token_int8_kernel[(rows,)](a.x, a.q, a.scale, n, n, BLOCK=block)

    def expected(self, xp, a, rows, n):
        x = xp.wide(a.x)
        scale = xp.f.amax(abs(x), axis=1) / 127
        return {"q": x / scale[:, None], "scale": scale}


class QuantiseByGroup(Case):
    full, small = dict(rows=8192, groups=64), dict(rows=6, groups=5)
    bounds = {"q": FP8, "scale": (1e-6, 0.0)}

    def inputs(self, draw, rows, groups):
        return {"x": draw.normal((rows, groups * 128), "bf16")}

    def outputs(self, rows, groups):
        return {"q": ((rows, groups * 128), "fp8e4nv"), "scale": ((groups, rows), "fp32")}

    def launch(self, a, rows, groups):
        kernels.per_group_kernel[(rows, triton.cdiv(groups, 4))](
            a.x, a.q, a.scale, groups, 1, rows, LARGEST=E4M3, GROUP=128, GROUPS=4,
            POWER_OF_2=False,
        )  # fmt: skip

    def expected(self, xp, a, rows, groups):
        x = xp.wide(a.x).reshape(rows, groups, 128)
        scale = xp.f.amax(abs(x), axis=2) / E4M3
        return {"q": (x / scale[:, :, None]).reshape(rows, -1), "scale": scale.T}


class QuantiseTensor(Case):
    full, small = dict(n=1 << 26), dict(n=1000)
    bounds = {"q": FP8}

    def inputs(self, draw, n):
        x = draw.normal(n, "bf16")
        return {"x": x, "largest": draw.narrow(abs(draw.wide(x)).max().reshape(1))}

    def outputs(self, n):
        return {"q": (n, "fp8e4nv")}

    def launch(self, a, n):
        kernels.per_tensor_kernel[(triton.cdiv(n, 2048),)](
            a.x, a.q, a.largest, n, LARGEST=E4M3, BLOCK=2048
        )

    def expected(self, xp, a, n):
        return {"q": xp.wide(a.x) * E4M3 / xp.wide(a.largest)}


class WidenBlocks(Case):
    full, small = dict(rows=8192, n=8192, tile=128), dict(rows=40, n=70, tile=32)

    def inputs(self, draw, rows, n, tile):
        return {
            "q": draw.normal((rows, n), "fp8e4nv"),
            "scale": draw.normal((-(-rows // tile), -(-n // tile))),
        }

    def outputs(self, rows, n, tile):
        return {"out": ((rows, n), "bf16")}

    def launch(self, a, rows, n, tile):
        kernels.dequantise_tiles_kernel[(triton.cdiv(rows, tile), triton.cdiv(n, tile))](
            a.q, a.scale, a.out, rows, n, TILE=tile
        )

    def expected(self, xp, a, rows, n, tile):
        scale = xp.wide(a.scale)[xp.f.arange(rows) // tile][:, xp.f.arange(n) // tile]
        return {"out": xp.wide(a.q) * scale}


class UnpackInt4(Case):
    full, small = dict(groups=1 << 18), dict(groups=9)

    def inputs(self, draw, groups):
        return {
            "packed": draw.integers((groups, 64), 0, 256, "u8"),
            "scale": draw.normal(groups),
            "zero": draw.integers(groups, 0, 16, "u8"),
        }

    def outputs(self, groups):
        return {"out": ((groups, 128), "fp16")}

    def launch(self, a, groups):
        kernels.unpack_int4_kernel[(groups,)](
            a.packed, a.scale, a.zero, a.out, GROUP=128, num_warps=1
        )

    def expected(self, xp, a, groups):
        halves = [xp.wide(a.packed & 15), xp.wide(a.packed >> 4)]
        q = xp.f.stack(halves, -1).reshape(groups, 128)
        return {"out": (q - xp.wide(a.zero)[:, None]) * xp.wide(a.scale)[:, None]}


CASES = cases_of(dict(globals()))
