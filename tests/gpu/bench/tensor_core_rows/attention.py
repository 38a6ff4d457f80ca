"""Attention: head dimensions, grouped queries, windows, fp8, ragged lengths, decode over pages."""

import importlib
import itertools

import torch
from field_case import corpus
from tensor_core_row import Row, arrays, draw, near
from torch.nn.attention import SDPBackend, sdpa_kernel

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
flash = corpus("test_flash_attention", PACKAGE)
widths = corpus("test_attention_two_widths", PACKAGE)
ragged = corpus("test_attention_varlen", PACKAGE)
paged = corpus("test_paged_attention", PACKAGE)
latent = corpus("test_latent_decode", PACKAGE)
FP8 = torch.float8_e4m3fn
TILES = {
    64: [(128, 64, 8, 3), (128, 128, 8, 3), (64, 64, 4, 3), (128, 64, 4, 3)],
    128: [(128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 3), (64, 128, 4, 2)],
    256: [(128, 64, 8, 2), (64, 64, 4, 2), (128, 32, 8, 3), (64, 32, 4, 3)],
}
ANY_EXTENT = {
    64: [(192, 128, 12, 2), (128, 176, 8, 2), (128, 192, 8, 2), (192, 96, 12, 3)],
    128: [(192, 128, 12, 2), (128, 176, 8, 2), (128, 160, 8, 2)],
    256: [(128, 80, 8, 2), (128, 96, 8, 2)],
}
# Tiles whose pairs of warp groups take turns; a choice that Pantile leaves to the tuner.
IN_PAIRS = {
    64: [(128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 3)],
    128: [(128, 128, 8, 2), (128, 64, 8, 3)],
    256: [],
}
LOG2E = 1.4426950408889634


def tiles(shapes):
    """Configurations of (rows, columns, warps, stages)."""
    return [{"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": s} for m, n, w, s in shapes]


def own_tiles(dim, any_extent=True):
    """Configurations that only Pantile runs."""
    pairs = [{**config, "enabled_passes": "ping-pong-pairs"} for config in tiles(IN_PAIRS[dim])]
    return pairs + tiles(ANY_EXTENT[dim] if any_extent else ())


def strides(*tensors):
    """The first three of each."""
    return [stride for x in tensors for stride in x.stride()[:3]]


def attend(q, k, v, scale, causal=False, window=0):
    """Attention of one head in float64, the rows of `q` the last ones."""
    q, k, v = q.double(), k.double(), v.double()
    s = q @ k.T * scale
    row = torch.arange(len(k) - len(q), len(k), device=q.device)[:, None]
    column = torch.arange(len(k), device=q.device)
    if causal:
        s.masked_fill_(column > row, float("-inf"))
    if window:
        s.masked_fill_(column <= row - window, float("-inf"))
    return s.softmax(-1) @ v


class Forward(Row):
    """One text: masks, causal, window, grouped queries; (batch, heads, length, dim)."""

    def __init__(self, dim, length, causal, heads, kv_heads, window=0):
        kind = "causal" if causal else "full"
        extra = f", {heads}:{kv_heads} heads" if heads != kv_heads else ""
        extra += f", window {window}" if window else ""
        super().__init__(f"attention d={dim} {kind} N={length}{extra}")
        self.dim, self.length, self.causal, self.window = dim, length, causal, window
        self.heads, self.kv_heads = heads, kv_heads
        self.batch = max(1, 16384 // length)
        seen = length * (0.5 if causal else 1.0)
        if window:
            seen = min(window, length) - window * window / (2 * length)
        self.flops = 4 * self.batch * heads * length * seen * dim
        self.configs = tiles(TILES[dim])
        self.own = own_tiles(dim, any_extent=not window)

    def arrays(self):
        shape = (self.batch, self.heads, self.length, self.dim)
        few = (self.batch, self.kv_heads, self.length, self.dim)
        q, k, v = draw(*shape), draw(*few), draw(*few)
        return arrays(
            q=q,
            k=k,
            v=v,
            out=torch.empty_like(q),
            lse=torch.empty(shape[:3], device="cuda", dtype=torch.float32),
        )

    def outputs(self, a):
        return [a.out, a.lse]

    def launch(self, a, config):
        grid = (triton.cdiv(self.length, config["BLOCK_M"]), self.batch * self.heads)
        along = strides(a.q, a.k, a.v, a.out)
        return lambda: flash._flash_forward[grid](
            a.q, a.k, a.v, a.out, a.lse, self.dim**-0.5, *along, self.heads, self.length,
            self.length, GROUP=self.heads // self.kv_heads, HEAD_DIM=self.dim, CAUSAL=self.causal,
            WINDOW=self.window, **config,
        )  # fmt: skip

    def check(self, a):
        group, scale = self.heads // self.kv_heads, self.dim**-0.5
        for b, h in itertools.product({0, self.batch - 1}, {0, self.heads - 1}):
            k, v = a.k[b, h // group], a.v[b, h // group]
            for end in {512, self.length // 2 + 37, self.length}:
                begin = end - 300
                known = end if self.causal else self.length
                q = a.q[b, h, begin:end]
                if self.causal:
                    want = attend(q, k[:known], v[:known], scale, True, self.window)
                else:
                    want = attend(q, k, v, scale)
                near("out", a.out[b, h, begin:end], want, 2e-2, 1e-2)

    def libraries(self, a):
        if self.window:
            return {}
        options = {"is_causal": self.causal, "enable_gqa": self.heads != self.kv_heads}

        def by(backend):
            def call():
                with sdpa_kernel(backend):
                    torch.nn.functional.scaled_dot_product_attention(a.q, a.k, a.v, **options)

            return call

        return {
            "cuDNN": by(SDPBackend.CUDNN_ATTENTION),
            "FlashAttention-2": by(SDPBackend.FLASH_ATTENTION),
        }


class TwoWidths(Row):
    """Queries and keys of 192, values of 128; or fp8 with values whose keys are contiguous."""

    def __init__(self, title, length, causal, heads, width, extra, value, dtype):
        super().__init__(f"attention {title} {'causal' if causal else 'full'} N={length}")
        self.length, self.causal, self.heads, self.dtype = length, causal, heads, dtype
        self.width, self.extra, self.value = width, extra, value
        self.batch = max(1, 16384 // length)
        seen = length * (0.5 if causal else 1.0)
        self.flops = 2 * self.batch * heads * length * seen * (width + extra + value)
        self.configs = tiles(TILES[128])
        self.own = own_tiles(128, any_extent=False)  # the kernel has no masks for ends of rows
        if dtype == FP8:  # whose tiles take half the shared memory
            self.configs += tiles([(64, 128, 4, 3), (64, 128, 4, 4), (128, 128, 8, 3)])

    def arrays(self):
        batch, heads, length = self.batch, self.heads, self.length
        whole = (batch, heads, length, self.width + self.extra)
        v = draw(batch, heads, length, self.value)
        if self.dtype == FP8:
            v = v.transpose(2, 3).contiguous().to(FP8).transpose(2, 3)
        return arrays(
            q=draw(*whole, dtype=self.dtype),
            k=draw(*whole, dtype=self.dtype),
            v=v,
            out=torch.empty(*whole[:3], self.value, device="cuda", dtype=torch.bfloat16),
        )

    def outputs(self, a):
        return [a.out]

    def launch(self, a, config):
        grid = (triton.cdiv(self.length, config["BLOCK_M"]), self.batch * self.heads)
        scale = (self.width + self.extra) ** -0.5
        return lambda: widths.two_width_kernel[grid](
            a.q, a.k, a.v, a.out, scale, *strides(a.q), *strides(a.k), *a.v.stride(),
            *strides(a.out), self.heads, self.length, GROUP=1, WIDTH=self.width, EXTRA=self.extra,
            VALUE=self.value, CAUSAL=self.causal, **config,
        )  # fmt: skip

    def check(self, a):
        scale = (self.width + self.extra) ** -0.5
        bound = (2e-2, 1e-2) if self.dtype != FP8 else (6e-2, 6e-2)
        for h, end in itertools.product({0, self.heads - 1}, {512, self.length}):
            known = end if self.causal else self.length
            q, k, v = a.q[0, h, end - 300 : end], a.k[0, h, :known], a.v[0, h, :known]
            want = attend(q, k, v, scale, self.causal)
            near("out", a.out[0, h, end - 300 : end], want, *bound)

    def libraries(self, a):
        if self.dtype == FP8:
            q, k, v = (x.to(torch.bfloat16) for x in (a.q, a.k, a.v.contiguous()))
        else:
            q, k, v = a.q, a.k, a.v

        def call():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

        return {"cuDNN bf16" if self.dtype == FP8 else "cuDNN": call}


class Ragged(Row):
    """Sequences of any length side by side, (tokens, heads, dim)."""

    LENGTHS = (3871, 200, 1553, 2999, 640, 4000, 777, 2048)

    def __init__(self, dim, causal, heads=16):
        super().__init__(f"attention varlen d={dim} {'causal' if causal else 'full'}")
        self.dim, self.causal, self.heads = dim, causal, heads
        seen = sum(n * n for n in self.LENGTHS) * (0.5 if causal else 1.0)
        self.flops = 4 * heads * dim * seen
        self.configs = tiles(TILES[dim])
        self.own = own_tiles(dim)

    def arrays(self):
        starts = list(itertools.accumulate(self.LENGTHS, initial=0))
        q, k, v = (draw(starts[-1], self.heads, self.dim) for _ in range(3))
        table = torch.tensor(starts, device="cuda", dtype=torch.int32)
        return arrays(q=q, k=k, v=v, out=torch.empty_like(q), starts=starts, table=table)

    def outputs(self, a):
        return [a.out]

    def launch(self, a, config):
        longest, row = max(self.LENGTHS), self.heads * self.dim
        grid = (triton.cdiv(longest, config["BLOCK_M"]), self.heads, len(self.LENGTHS))
        kernel = ragged._varlen_forward.fn  # tuned here
        return lambda: kernel[grid](
            a.q, a.k, a.v, a.out, a.table, a.table, self.dim**-0.5, row, row, row, row, self.dim,
            longest, CAUSAL=self.causal, **config,
        )  # fmt: skip

    def check(self, a):
        for begin, end in itertools.pairwise(a.starts):
            for h in (0, self.heads - 1):
                q, k, v = (x[begin:end, h] for x in (a.q, a.k, a.v))
                want = attend(q, k, v, self.dim**-0.5, self.causal)
                near("out", a.out[begin:end, h], want, 2e-2, 1e-2)

    def libraries(self, a):
        longest = max(self.LENGTHS)
        return {
            "FlashAttention-2": lambda: torch.ops.aten._flash_attention_forward(
                a.q, a.k, a.v, a.table, a.table, longest, longest, 0.0, self.causal, False
            )
        }


class PagedDecode(Row):
    """One token a sequence, grouped queries, pages of 16 tokens in random order; two launches."""

    def __init__(self, batch, length, heads=32, kv_heads=8, dim=128):
        super().__init__(f"paged decode, {batch} sequences of {length}")
        self.batch, self.length, self.heads, self.kv_heads = batch, length, heads, kv_heads
        self.dim, self.page = dim, 16
        self.bytes = 4 * batch * length * kv_heads * dim
        self.configs = [
            {"BLOCK_N": n, "NUM_SPLITS": splits, "num_warps": warps, "num_stages": stages}
            for n, warps, stages in ((64, 4, 3), (128, 4, 3), (64, 4, 2), (32, 2, 4))
            for splits in (8, 32)
        ]

    def arrays(self):
        pages = self.batch * self.length // self.page
        cache = (pages, self.page, self.kv_heads, self.dim)
        order = torch.randperm(pages, device="cuda").int().reshape(self.batch, -1)
        q = draw(self.batch, self.heads, self.dim)
        mid = torch.empty(self.batch, self.heads, 32, self.dim, device="cuda")
        lengths = torch.full((self.batch,), self.length, device="cuda", dtype=torch.int32)
        return arrays(
            q=q, k=draw(*cache), v=draw(*cache), table=order, lengths=lengths, mid=mid,
            lse=torch.empty(mid.shape[:3], device="cuda"), out=torch.empty_like(q),
        )  # fmt: skip

    def outputs(self, a):
        return [a.out, a.mid, a.lse]

    def launch(self, a, config):
        options = dict(config)
        splits, n = options.pop("NUM_SPLITS"), options.pop("BLOCK_N")
        mid = (self.heads * 32, 32, 1)
        pages = a.k.stride()[:3]

        def call():
            paged._split_decode[(self.batch, self.kv_heads, splits)](
                a.q, a.k, a.v, a.table, a.lengths, a.mid, a.lse, self.dim**-0.5, *a.q.stride()[:2],
                *pages, *pages, a.table.stride(0), *mid, GROUP=self.heads // self.kv_heads,
                BLOCK_H=16, HEAD_DIM=self.dim, PAGE=self.page, BLOCK_N=n, NUM_SPLITS=splits,
                **options,
            )  # fmt: skip
            paged._join_splits[(self.batch, self.heads)](
                a.mid, a.lse, a.out, a.lengths, *mid, *a.out.stride()[:2], HEAD_DIM=self.dim,
                BLOCK_N=n, NUM_SPLITS=splits,
            )  # fmt: skip

        return call

    def check(self, a):
        group = self.heads // self.kv_heads
        for b, h in itertools.product({0, self.batch - 1}, {0, self.heads - 1}):
            pages = a.table[b].long()
            k, v = (x[pages, :, h // group].flatten(0, 1) for x in (a.k, a.v))
            want = attend(a.q[b, h][None], k, v, self.dim**-0.5)[0]
            near("out", a.out[b, h], want, 2e-2, 1e-2)


class LatentDecode(Row):
    """Decode of multi-head latent attention: the heads share rows of 512 + 64; two launches."""

    def __init__(self, batch, length, heads=128):
        of_heads = "" if heads == 128 else f", {heads} heads"
        super().__init__(f"MLA decode, {batch} sequences of {length}{of_heads}")
        self.batch, self.length, self.heads, self.page = batch, length, heads, 64
        self.bytes = 2 * batch * length * 576
        self.math = 2 * batch * heads * length * (576 + 512)
        most = 64 if batch == 1 else 8
        few = 256 // batch if heads == 16 else most // 4  # for 16 heads two CTAs per SM
        self.configs = [
            {"ROWS": rows, "COLUMNS": columns, "SPLITS": splits, "num_warps": w, "num_stages": s}
            for rows, columns, w, s in (
                (64, 32, 4, 2),
                (64, 64, 8, 1),
                (64, 32, 8, 2),
                (16, 32, 4, 2),
                (16, 64, 4, 2),
                (16, 32, 4, 4),
            )
            for splits in (few, most)
        ]

    def arrays(self):
        pages = self.batch * self.length // self.page
        order = torch.randperm(pages, device="cuda").int().reshape(self.batch, -1)
        mid = torch.empty(self.batch * self.heads * 64 * 512, device="cuda")
        return arrays(
            q=draw(self.batch, self.heads, 576), cache=draw(pages, self.page, 576), table=order,
            lengths=torch.full((self.batch,), self.length, device="cuda", dtype=torch.int32),
            mid=mid, lse=torch.empty(self.batch * self.heads * 64, device="cuda"),
            out=torch.empty(self.batch, self.heads, 512, device="cuda", dtype=torch.bfloat16),
        )  # fmt: skip

    def outputs(self, a):
        return [a.out, a.mid, a.lse]

    def launch(self, a, config):
        rows, splits = config["ROWS"], config["SPLITS"]

        def call():
            latent.latent_split_kernel[(self.batch, triton.cdiv(self.heads, rows), splits)](
                a.q, a.cache, a.table, a.lengths, a.mid, a.lse, 192**-0.5, a.table.stride(0),
                HEADS=self.heads, DIM=512, EXTRA=64, PAGE=self.page, **config,
            )  # fmt: skip
            latent.latent_join_kernel[(self.batch, self.heads)](
                a.mid, a.lse, a.out, HEADS=self.heads, DIM=512, SPLITS=splits
            )

        return call

    def check(self, a):
        for b, h in itertools.product({0, self.batch - 1}, {0, self.heads - 1}):
            k = a.cache[a.table[b].long()].flatten(0, 1)
            want = attend(a.q[b, h][None], k, k[:, :512], 192**-0.5)[0]
            near("out", a.out[b, h], want, 2e-2, 1e-2)


ROWS = [
    Forward(64, 4096, False, 32, 32),
    Forward(64, 16384, True, 32, 32),
    Forward(128, 4096, True, 64, 8),
    Forward(128, 16384, True, 64, 8),
    Forward(128, 16384, False, 64, 8),
    Forward(256, 4096, True, 16, 16),
    Forward(256, 16384, False, 16, 16),
    Forward(64, 8192, True, 64, 8, window=1024),
    TwoWidths("d=192/128", 4096, True, 16, 128, 64, 128, torch.bfloat16),
    TwoWidths("d=192/128", 16384, False, 16, 128, 64, 128, torch.bfloat16),
    TwoWidths("fp8 d=128", 16384, False, 16, 128, 0, 128, FP8),
    TwoWidths("fp8 d=128", 16384, True, 16, 128, 0, 128, FP8),
    TwoWidths("bf16 d=128", 16384, False, 16, 128, 0, 128, torch.bfloat16),
    Ragged(64, True),
    Ragged(64, False),
    Ragged(128, True),
    PagedDecode(32, 8192),
    PagedDecode(4, 32768),
    LatentDecode(1, 65536),
    LatentDecode(16, 16384),
    LatentDecode(64, 4096),
    LatentDecode(16, 16384, heads=16),
    LatentDecode(64, 4096, heads=16),
]
