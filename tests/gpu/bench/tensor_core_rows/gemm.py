"""GEMM: fp8 scaled by blocks, experts, weights of 4 bits, few rows and a long K."""

import importlib

import kernels
import torch
from field_case import corpus
from tensor_core_row import Row, arrays, draw, near, numbers, sample

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")
blocks = corpus("test_fp8_block_gemm", PACKAGE)
moe = corpus("test_moe", PACKAGE)
packed = corpus("test_weight_only_gemm", PACKAGE)
micro = corpus("test_mxfp4_gemm", PACKAGE)
plain = kernels.load(PACKAGE)
FP8 = torch.float8_e4m3fn


def tiles(m, n, k, warps, stages, **more):
    """A configuration of a GEMM."""
    sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return {**sizes, "num_warps": warps, "num_stages": stages, **more}


class BlockScaledFp8(Row):
    """fp8 e4m3 with scales of 1 x 128 of a and 128 x 128 of b, as DeepSeek, vLLM and SGLang write it."""

    def __init__(self, m, n, k):
        super().__init__(f"fp8 GEMM, block scales, M={m} N={n} K={k}")
        self.m, self.n, self.k = m, n, k
        self.flops = 2 * m * n * k
        few = [tiles(64, 128, 128, 4, 4), tiles(64, 64, 128, 4, 5), tiles(64, 32, 128, 4, 5)]
        many = [
            tiles(128, 128, 128, 8, 3),
            tiles(128, 128, 128, 8, 4),
            tiles(128, 128, 128, 4, 3),
            tiles(64, 128, 128, 4, 4),
            tiles(128, 64, 128, 4, 4),
            tiles(128, 256, 128, 8, 3),
        ]
        self.configs = few if m <= 128 else many
        sizes = [(192, 128, 128, 12, 3), (128, 192, 128, 8, 3), (128, 160, 128, 8, 4)]
        wide = [] if m <= 128 else [tiles(*size) for size in sizes]
        self.own = wide + [
            {**c, "enabled_passes": name}
            for name in ("nv-stream-k", "tile-combine-factors")
            for c in self.configs + wide
        ]

    def arrays(self):
        m, n, k = self.m, self.n, self.k
        return arrays(
            a=draw(m, k, dtype=FP8),
            b=draw(n, k, dtype=FP8),
            a_scales=draw(m, k // 128, dtype=torch.float32, scale=0.1),
            b_scales=draw(k // 128, n // 128 + (n % 128 > 0), dtype=torch.float32, scale=0.1),
            c=torch.empty(m, n, device="cuda", dtype=torch.bfloat16),
            one=torch.ones((), device="cuda"),
        )

    def outputs(self, a):
        return [a.c]

    def launch(self, a, config):
        m, n, k = self.m, self.n, self.k
        grid = (triton.cdiv(m, config["BLOCK_M"]) * triton.cdiv(n, config["BLOCK_N"]),)
        return lambda: blocks.block_scaled_kernel[grid](
            a.a, a.b, a.c, a.a_scales, a.b_scales, m, n, k, 128, 128, k, 1, 1, k, n, 1,
            k // 128, 1, a.b_scales.shape[1], 1, GROUP_M=8, **config,
        )  # fmt: skip

    def check(self, a):
        rows = torch.tensor(sample(self.m), device="cuda")
        depth = torch.arange(self.k, device="cuda") // 128
        column = torch.arange(self.n, device="cuda") // 128
        x = a.a[rows].double() * a.a_scales[rows].double()[:, depth]
        want = torch.cat(
            [
                x @ (part.double().T * a.b_scales.double()[depth][:, which])
                for part, which in zip(a.b.split(4096), column.split(4096), strict=True)
            ],
            dim=1,
        )
        # The tensor cores of Hopper keep 13 bits of fraction where they add products of fp8.
        near("c", a.c[rows], want, 1.6e-2, 2e-3 * self.k**0.5)

    def libraries(self, a):
        if self.n % 16:
            return {}
        return {
            "cuBLAS without scales": lambda: torch._scaled_mm(
                a.a, a.b.T, scale_a=a.one, scale_b=a.one, out_dtype=torch.bfloat16
            )
        }


class Experts(Row):
    """Tokens, each by the matrices of `top` experts, rows sorted by expert in blocks of 128 or 64."""

    def __init__(self, name, tokens, experts, top, n, k):
        super().__init__(f"MoE GEMM {name}, {tokens} tokens, {experts} experts, top {top}")
        self.tokens, self.experts, self.top, self.n, self.k = tokens, experts, top, n, k
        self.shared = top if name.startswith("up") else 1  # slots that read one row of x
        self.flops = 2 * tokens * top * n * k
        sizes = (64, 128) if tokens * top // experts >= 128 else (16, 64)
        self.configs = [
            config
            for config in (
                tiles(128, 128, 64, 8, 3),
                tiles(128, 128, 64, 4, 4),
                tiles(128, 256, 64, 8, 3),
                tiles(64, 128, 64, 4, 4),
                tiles(64, 256, 64, 4, 3),
                tiles(16, 128, 128, 4, 4),
                tiles(16, 64, 256, 4, 4),
            )
            if config["BLOCK_M"] in sizes
        ]

    def arrays(self):
        slots = self.tokens * self.top
        chosen = torch.rand(self.tokens, self.experts, device="cuda").topk(self.top, 1).indices
        a = arrays(
            x=draw(slots // self.shared, self.k),
            w=draw(self.experts, self.n, self.k, scale=self.k**-0.5),
            out=torch.empty(slots, self.n, device="cuda", dtype=torch.bfloat16),
            expert=chosen.flatten(),
            weight=draw(slots, dtype=torch.float32),
        )
        order = a.expert.argsort(stable=True)
        counts = torch.bincount(a.expert, minlength=self.experts)
        a.ends, a.sorted_x = counts.cumsum(0).int(), a.x[order // self.shared]
        a.tables = {m: self.table(order, counts, m) for m in {c["BLOCK_M"] for c in self.configs}}
        return a

    def table(self, order, counts, block):
        """Sorted slots, each expert's padded to whole blocks, the experts of blocks, the length."""
        padded = (counts + block - 1) // block * block
        starts, first = padded.cumsum(0) - padded, counts.cumsum(0) - counts
        slots = torch.full((int(padded.sum()),), order.numel(), device="cuda", dtype=torch.int32)
        which = torch.repeat_interleave(torch.arange(self.experts, device="cuda"), counts)
        within = torch.arange(order.numel(), device="cuda") - first[which]
        slots[starts[which] + within] = order.int()
        expert = torch.repeat_interleave(torch.arange(self.experts, device="cuda"), padded // block)
        return slots, expert.int(), padded.sum().int().reshape(1)

    def outputs(self, a):
        return [a.out]

    def launch(self, a, config):
        slots, expert, padded = a.tables[config["BLOCK_M"]]
        n, k = self.n, self.k
        grid = (slots.numel() // config["BLOCK_M"] * triton.cdiv(n, config["BLOCK_N"]),)
        return lambda: moe.expert_product_kernel[grid](
            a.x, a.w, a.out, a.weight, slots, expert, padded, n, k, self.tokens * self.top,
            k, 1, n * k, 1, k, n, 1, GROUP_M=8, TOP_K=self.shared, WEIGH=False,
            compute_type=tl.bfloat16, **config,
        )  # fmt: skip

    def check(self, a):
        for slot in sample(self.tokens * self.top):
            want = a.w[a.expert[slot]].double() @ a.x[slot // self.shared].double()
            near("out", a.out[slot], want, 1.6e-2, 1e-2)

    def libraries(self, a):
        weights = a.w.transpose(1, 2)
        return {
            "torch._grouped_mm, rows sorted before": lambda: torch._grouped_mm(
                a.sorted_x, weights, offs=a.ends
            )
        }


class Int4Weights(Row):
    """bf16 by signed 4-bit weights, two a byte, a scale for 128 of K and each column."""

    def __init__(self, m, n, k):
        super().__init__(f"int4 weights, M={m} N={n} K={k}")
        self.m, self.n, self.k = m, n, k
        self.bytes = 2 * m * (n + k) + n * k // 2 + 2 * n * k // 128
        few = [tiles(16, 32, 128, 4, 5), tiles(16, 64, 128, 4, 4), tiles(16, 128, 128, 4, 4)]
        some = [
            tiles(32, 64, 128, 4, 4),
            tiles(32, 128, 128, 4, 4),
            tiles(64, 64, 128, 4, 4),
            tiles(64, 128, 128, 4, 4),
            tiles(64, 128, 128, 8, 4),
        ]
        many = [
            tiles(64, 128, 128, 4, 3),
            tiles(128, 64, 128, 4, 3),
            tiles(128, 128, 128, 8, 3),
            tiles(256, 128, 64, 8, 3),
        ]
        self.configs = few if m <= 16 else few + some if m <= 64 else many
        self.own = self.computed(self.configs)

    @staticmethod
    def computed(configs):
        """With weights that are unpacked in the layout of their MMA, or with tiles that are split, or both."""
        choices = ("computed-operands", "nv-stream-k", "computed-operands,nv-stream-k")
        return [{**c, "enabled_passes": names} for c in configs for names in choices]

    def arrays(self):
        m, n, k = self.m, self.n, self.k
        return arrays(
            a=draw(m, k),
            b=numbers(0, 256, k // 2, n, dtype=torch.uint8),
            scales=draw(k // 128, n, scale=0.01),
            c=torch.empty(m, n, device="cuda", dtype=torch.bfloat16),
            plain=draw(k, n),
        )

    def outputs(self, a):
        return [a.c]

    def launch(self, a, config):
        grid = (triton.cdiv(self.m, config["BLOCK_M"]), triton.cdiv(self.n, config["BLOCK_N"]))
        return lambda: packed.two_a_byte_kernel[grid](
            a.a, a.b, a.scales, a.c, self.m, self.n, self.k, GROUP=128, **config
        )

    def check(self, a):
        rows = torch.tensor(sample(self.m), device="cuda")
        low, high = ((a.b & 15) ^ 8).short() - 8, ((a.b >> 4) ^ 8).short() - 8
        weights = torch.stack([low, high], 1).reshape(self.k, self.n).double()
        weights *= a.scales.double().repeat_interleave(128, 0)
        near("c", a.c[rows], a.a[rows].double() @ weights, 1.6e-2, 5e-2)

    def libraries(self, a):
        return {"cuBLAS bf16": lambda: torch.mm(a.a, a.plain, out=a.c)}


class Mxfp4Weights(Int4Weights):
    """bf16 by e2m1 weights with a scale of a power of two for 32 of K."""

    def __init__(self, m, n, k):
        super().__init__(m, n, k)
        self.title = f"mxfp4 weights, M={m} N={n} K={k}"
        self.bytes = 2 * m * (n + k) + n * k // 2 + n * k // 32
        if m <= 16:
            self.configs = [*self.configs, tiles(16, 64, 256, 4, 3)]
        self.own = self.computed({**c, "by_hand": False} for c in self.configs)
        self.configs = [{**c, "by_hand": hand} for c in self.configs for hand in (False, True)]

    def arrays(self):
        m, n, k = self.m, self.n, self.k
        return arrays(
            a=draw(m, k),
            b=numbers(0, 256, n, k // 2, dtype=torch.uint8),
            scales=numbers(118, 124, n, k // 32, dtype=torch.uint8),
            c=torch.empty(m, n, device="cuda", dtype=torch.bfloat16),
            plain=draw(k, n),
        )

    def launch(self, a, config):
        sizes = {name: value for name, value in config.items() if name != "by_hand"}
        kernel = micro.mxfp4_by_hand_kernel if config["by_hand"] else micro.mxfp4_kernel
        grid = (triton.cdiv(self.m, config["BLOCK_M"]), triton.cdiv(self.n, config["BLOCK_N"]))
        return lambda: kernel[grid](a.a, a.b, a.scales, a.c, self.m, self.n, self.k, **sizes)

    def check(self, a):
        rows = torch.tensor(sample(self.m), device="cuda")
        values = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
        codes = torch.tensor(values + [-x for x in values], device="cuda", dtype=torch.float64)
        weights = torch.stack([codes[(a.b & 15).long()], codes[(a.b >> 4).long()]], 2).flatten(1)
        weights *= torch.exp2(a.scales.double() - 127).repeat_interleave(32, 1)
        near("c", a.c[rows], a.a[rows].double() @ weights.T, 1.6e-2, 5e-2)


class FewRows(Row):
    """bf16 GEMM of the tutorial's text with few rows and a long K."""

    def __init__(self, m, n, k):
        super().__init__(f"bf16 GEMM, M={m} N={n} K={k}")
        self.m, self.n, self.k = m, n, k
        self.flops = 2 * m * n * k
        self.configs = [
            tiles(64, 128, 64, 4, 5),
            tiles(64, 64, 128, 4, 5),
            tiles(128, 64, 64, 4, 5),
            tiles(128, 128, 64, 4, 4),
            tiles(64, 64, 64, 4, 7),
            tiles(128, 128, 128, 8, 3),
        ]
        self.own = [
            *({**c, "enabled_passes": "nv-stream-k"} for c in self.configs),
            tiles(128, 96, 64, 4, 5),
            tiles(64, 96, 128, 4, 4),
            tiles(128, 96, 128, 8, 3),
        ]

    def arrays(self):
        a, b = draw(self.m, self.k), draw(self.k, self.n)
        return arrays(a=a, b=b, c=torch.empty(self.m, self.n, device="cuda", dtype=a.dtype))

    def outputs(self, a):
        return [a.c]

    def launch(self, a, config):
        names = {"BLOCK_M": "BLOCK_SIZE_M", "BLOCK_N": "BLOCK_SIZE_N", "BLOCK_K": "BLOCK_SIZE_K"}
        config = {names.get(name, name): value for name, value in config.items()}
        m, n, k = self.m, self.n, self.k
        blocks_m = triton.cdiv(m, config["BLOCK_SIZE_M"])
        grid = (blocks_m * triton.cdiv(n, config["BLOCK_SIZE_N"]),)
        return lambda: plain.matmul_kernel[grid](
            a.a, a.b, a.c, m, n, k, k, 1, n, 1, n, 1, GROUP_SIZE_M=8, ACTIVATION="", **config
        )

    def check(self, a):
        near("c", a.c, a.a.double() @ a.b.double(), 8e-3, 1e-2 * self.k**0.5)

    def libraries(self, a):
        return {"cuBLAS": lambda: torch.mm(a.a, a.b, out=a.c)}


DEEPSEEK = (
    (2112, 7168),
    (24576, 1536),
    (32768, 512),
    (7168, 16384),
    (4096, 7168),
    (7168, 2048),
)
ROWS = [
    *(BlockScaledFp8(4096, n, k) for n, k in DEEPSEEK),
    *(BlockScaledFp8(m, n, k) for m in (64, 128) for n, k in DEEPSEEK[3:]),
    Experts("up, Mixtral 8x7B", 4096, 8, 2, 28672, 4096),
    Experts("down, Mixtral 8x7B", 4096, 8, 2, 4096, 14336),
    Experts("up, Qwen3-30B-A3B", 4096, 128, 8, 1536, 2048),
    Experts("down, Qwen3-30B-A3B", 4096, 128, 8, 2048, 768),
    Experts("up, Qwen3-30B-A3B", 64, 128, 8, 1536, 2048),
    Experts("up, 256 experts", 8192, 256, 8, 4096, 2048),
    *(Int4Weights(m, 8192, 8192) for m in (1, 16, 32, 64, 256)),
    *(Mxfp4Weights(m, 8192, 8192) for m in (16, 64, 256)),
    FewRows(256, 4096, 14336),
    FewRows(64, 4096, 14336),
    FewRows(256, 28672, 4096),
]
