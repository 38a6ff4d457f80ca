"""GEMM and GEMV of quantised weights: int4 in three packings, int8, fp8 by blocks; plain GEMV."""

import importlib

from field_case import Case, cases_of, corpus, sigmoid

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
packed = corpus("test_weight_only_gemm", PACKAGE)
blocks = corpus("test_fp8_block_gemm", PACKAGE)
vectors = corpus("test_batched_gemv", PACKAGE)
AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # which nibble of a word a column has
SUMS = (2e-3, 1e-2)  # bound of sums of some thousand products


def nibbles(xp, words, axis, order=range(8)):
    """The eight nibbles of each word, side by side along `axis`."""
    parts = xp.f.stack([(words >> 4 * i) & 15 for i in order], axis + 1)
    shape = list(words.shape)
    shape[axis] *= 8
    return parts.reshape(shape)


def words(draw, shape):
    """Random bits."""
    return draw.integers(shape, -(2**31), 2**31)


def tiles(m, n, block_m, block_n):
    """A grid of two axes."""
    return triton.cdiv(m, block_m), triton.cdiv(n, block_n)


class GptqInt4Gemm(Case):
    full, small = dict(m=16, n=8192, k=8192), dict(m=5, n=72, k=256)
    bounds = {"c": SUMS}

    def inputs(self, draw, m, n, k):
        return {
            "a": draw.normal((m, k), "fp16"),
            "b": words(draw, (k // 8, n)),
            "scales": draw.normal((k // 128, n), "fp16", 0.01),
            "zeros": words(draw, (k // 128, n // 8)),
        }

    def outputs(self, m, n, k):
        return {"c": ((m, n), "fp16")}

    def launch(self, a, m, n, k):
        packed.gptq_kernel[tiles(m, n, 16, 64)](
            a.a, a.b, a.c, a.scales, a.zeros, a.b, m, n, k, k, n, n, n, n // 8,
            HAS_ORDER=False, GROUP=128, BLOCK_M=16, BLOCK_N=64, BLOCK_K=128, num_stages=3,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k):
        group = xp.f.arange(k) // 128
        scales, zeros = xp.wide(a.scales), xp.wide(nibbles(xp, a.zeros, 1))
        weights = (xp.wide(nibbles(xp, a.b, 0)) - zeros[group] - 1) * scales[group]
        return {"c": xp.wide(a.a) @ xp.wide(xp.cast(weights, "fp16"))}


class AwqInt4Gemm(Case):
    full, small = dict(m=16, n=8192, k=8192, parts=4), dict(m=5, n=64, k=256, parts=2)
    bounds = {"c": SUMS}

    def inputs(self, draw, m, n, k, parts):
        return {
            "a": draw.normal((m, k), "fp16"),
            "b": words(draw, (k, n // 8)),
            "scales": draw.normal((k // 128, n), "fp16", 0.01),
            "zeros": words(draw, (k // 128, n // 8)),
        }

    def outputs(self, m, n, k, parts):
        return {"c": ((parts, m, n), "fp32")}

    def launch(self, a, m, n, k, parts):
        packed.awq_kernel[(triton.cdiv(m, 16) * triton.cdiv(n, 64), parts)](
            a.a, a.b, a.c, a.zeros, a.scales, m, n, k, GROUP=128,
            BLOCK_M=16, BLOCK_N=64, BLOCK_K=64, SPLIT_K=parts, num_stages=3,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k, parts):
        group = xp.f.arange(k) // 128
        zeros = xp.wide(nibbles(xp, a.zeros, 1, AWQ_ORDER))[group]
        weights = xp.wide(nibbles(xp, a.b, 1, AWQ_ORDER)) - zeros
        weights = xp.wide(xp.cast(weights * xp.wide(a.scales)[group], "fp16"))
        x, turn = xp.wide(a.a), xp.f.arange(k) // 64 % parts
        return {"c": xp.f.stack([x @ (weights * (turn == z)[:, None]) for z in range(parts)])}


class TwoInt4PerByteGemm(Case):
    full, small = dict(m=64, n=8192, k=8192), dict(m=5, n=72, k=256)
    bounds = {"c": (2e-3, 2e-2)}

    def inputs(self, draw, m, n, k):
        return {
            "a": draw.normal((m, k), "fp16"),
            "b": draw.integers((k // 2, n), 0, 256, "u8"),
            "scales": draw.normal((k // 128, n), "fp32", 0.01),
        }

    def outputs(self, m, n, k):
        return {"c": ((m, n), "fp16")}

    def launch(self, a, m, n, k):
        packed.two_a_byte_kernel[tiles(m, n, 64, 64)](
            a.a, a.b, a.scales, a.c, m, n, k, GROUP=128, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64,
            num_stages=3,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k):
        halves = xp.f.stack([xp.wide(a.b & 15), xp.wide(a.b >> 4)], 1).reshape(k, n)
        weights = halves - 16 * (halves > 7)
        return {"c": xp.wide(a.a) @ (weights * xp.wide(a.scales)[xp.f.arange(k) // 128])}


class Int8WeightGemm(Case):
    full, small = dict(m=64, n=8192, k=8192), dict(m=5, n=72, k=200)
    bounds = {"c": (2e-3, 2e-2)}

    def inputs(self, draw, m, n, k):
        return {
            "a": draw.normal((m, k), "fp16"),
            "b": draw.integers((k, n), -128, 128, "i8"),
            "scales": draw.normal(n, "fp32", 0.01),
            "bias": draw.normal(n),
        }

    def outputs(self, m, n, k):
        return {"c": ((m, n), "fp16")}

    def launch(self, a, m, n, k):
        packed.byte_weights_kernel[tiles(m, n, 64, 64)](
            a.a, a.b, a.scales, a.bias, a.c, m, n, k, n, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64,
            num_stages=3,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k):
        sums = xp.wide(a.a) @ xp.wide(a.b)
        return {"c": sums * xp.wide(a.scales) + xp.wide(a.bias)}


class BlockScaledFp8Gemm(Case):
    full, small = dict(m=1024, n=4096, k=7168), dict(m=20, n=256, k=256)
    bounds = {"c": (1.6e-2, 2e-2)}

    def inputs(self, draw, m, n, k):
        return {
            "a": draw.normal((m, k), "fp8e4nv"),
            "b": draw.normal((n, k), "fp8e4nv"),
            "a_scales": draw.normal((m, k // 128), "fp32", 0.1),
            "b_scales": draw.normal((k // 128, n // 128), "fp32", 0.1),
        }

    def outputs(self, m, n, k):
        return {"c": ((m, n), "bf16")}

    def launch(self, a, m, n, k):
        block = 128 if m >= 128 else 16
        blocks.block_scaled_kernel[(triton.cdiv(m, block) * triton.cdiv(n, 128),)](
            a.a, a.b, a.c, a.a_scales, a.b_scales, m, n, k, 128, 128, k, 1, 1, k, n, 1,
            k // 128, 1, n // 128, 1, BLOCK_M=block, BLOCK_N=128, BLOCK_K=128, GROUP_M=8,
            num_stages=3, num_warps=8 if m >= 128 else 4,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k):
        depth, column = xp.f.arange(k) // 128, xp.f.arange(n) // 128
        x = xp.wide(a.a) * xp.wide(a.a_scales)[:, depth]
        return {"c": x @ (xp.wide(a.b).T * xp.wide(a.b_scales)[depth][:, column])}


class Int8Gemm(Case):
    full, small = dict(m=1024, n=4096, k=4096), dict(m=20, n=72, k=200)
    bounds = {"c": (1e-5, 1e-5)}

    def inputs(self, draw, m, n, k):
        return {
            "a": draw.integers((m, k), -128, 128, "i8"),
            "b": draw.integers((k, n), -128, 128, "i8"),
            "a_scales": draw.normal(m, "fp32", 1e-3),
            "b_scales": draw.normal(n, "fp32", 1e-3),
        }

    def outputs(self, m, n, k):
        return {"c": ((m, n), "fp32")}

    def launch(self, a, m, n, k):
        blocks.int8_product_kernel[tiles(m, n, 128, 128)](
            a.a, a.b, a.c, a.a_scales, a.b_scales, m, n, k, False, None,
            BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_stages=3, num_warps=8,
        )  # fmt: skip

    def expected(self, xp, a, m, n, k):
        sums = xp.wide(a.a) @ xp.wide(a.b)
        return {"c": sums * xp.wide(a.a_scales)[:, None] * xp.wide(a.b_scales)}


class Gemv(Case):
    full, small = dict(m=8192, n=8192), dict(m=37, n=300)
    bounds = {"y": SUMS}

    def inputs(self, draw, m, n):
        return {"w": draw.normal((m, n), "fp16", 0.1), "x": draw.normal(n, "fp16")}

    def outputs(self, m, n):
        return {"y": (m, "fp16")}

    def launch(self, a, m, n):
        vectors.gemv_kernel.fn[(triton.cdiv(m, 4), 1)](
            a.w, a.x, a.y, m, n, m * n, n, n, ROWS=4, COLS=512, num_warps=4
        )

    def expected(self, xp, a, m, n):
        return {"y": xp.wide(a.w) @ xp.wide(a.x)}


class SplitGemv(Case):
    full, small = dict(m=8192, n=8192), dict(m=37, n=100)
    bounds = {"y": (1e-4, 1e-3)}
    zeroed = ("y",)

    def inputs(self, draw, m, n):
        return {"w": draw.normal((n, m), "fp16", 0.1), "x": draw.normal(n, "fp16")}

    def outputs(self, m, n):
        return {"y": (m, "fp32")}

    def launch(self, a, m, n):
        grid = tiles(m, n, 128, 64)
        vectors.split_gemv_kernel.fn[grid](a.w, a.x, a.y, m, n, ROWS=128, COLS=64, num_warps=4)

    def expected(self, xp, a, m, n):
        return {"y": xp.wide(a.x) @ xp.wide(a.w)}


class GatedGemv(Case):
    full, small = dict(m=11008, n=4096), dict(m=37, n=300)
    bounds = {"y": (4e-3, 4e-3)}

    def inputs(self, draw, m, n):
        return {
            "gate": draw.normal((m, n), "bf16", 0.02),
            "up": draw.normal((m, n), "bf16", 0.02),
            "x": draw.normal(n, "bf16"),
        }

    def outputs(self, m, n):
        return {"y": (m, "fp32")}

    def launch(self, a, m, n):
        vectors.gated_gemv_kernel[(triton.cdiv(m, 4),)](
            a.gate, a.up, a.x, a.y, m, n, ROWS=4, COLS=512
        )

    def expected(self, xp, a, m, n):
        x = xp.wide(a.x)
        gate = xp.wide(a.gate) @ x
        return {"y": gate * sigmoid(xp, gate) * (xp.wide(a.up) @ x)}


class Int4Gemv(Case):
    full, small = dict(m=8192, n=8192), dict(m=37, n=256)
    bounds = {"y": (1e-3, 1e-2)}

    def inputs(self, draw, m, n):
        return {
            "w": words(draw, (m, n // 8)),
            "scale": draw.normal((m, n // 128), "fp16", 0.01),
            "zero": draw.normal((m, n // 128), "fp16", 4.0),
            "x": draw.normal(n, "fp16"),
        }

    def outputs(self, m, n):
        return {"y": (m, "fp32")}

    def launch(self, a, m, n):
        vectors.int4_gemv_kernel[(triton.cdiv(m, 16),)](
            a.w, a.scale, a.zero, a.x, a.y, m, n, GROUP=128, ROWS=16
        )

    def expected(self, xp, a, m, n):
        group = xp.f.arange(n) // 128
        zero, scale = xp.wide(a.zero)[:, group], xp.wide(a.scale)[:, group]
        return {"y": ((xp.wide(nibbles(xp, a.w, 1)) - zero) * scale) @ xp.wide(a.x)}


CASES = cases_of(dict(globals()))
