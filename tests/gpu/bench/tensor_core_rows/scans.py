"""Chunked scans: Mamba-2, the gated delta rule, linear attention and its gradients."""

import importlib

import torch
from field_case import corpus
from tensor_core_row import Row, arrays, draw, near, sample

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
duality = corpus("test_state_space_duality", PACKAGE)
delta = corpus("test_delta_state", PACKAGE)
linear = corpus("test_linear_attention", PACKAGE)
gradients = corpus("test_linear_attention_backward", PACKAGE)


def launched(warps_and_stages, **sizes):
    """Configurations of the same tile."""
    return [{**sizes, "num_warps": w, "num_stages": s} for w, s in warps_and_stages]


class ChunkScan(Row):
    """Mamba-2: outputs of each chunk from its own tokens and from the state before it."""

    def __init__(self, batch, length, heads=80, dim=64, states=128, chunk=256):
        super().__init__(f"Mamba-2 chunk scan, batch {batch} N={length}")
        self.batch, self.length, self.heads = batch, length, heads
        self.dim, self.states, self.chunk, self.chunks = dim, states, chunk, length // chunk
        self.flops = batch * length * heads * dim * (2 * states + chunk)
        self.configs = [
            *launched(((4, 2), (4, 3), (8, 2)), BLOCK_M=64, BLOCK_K=32),
            *launched(((4, 2), (4, 3)), BLOCK_M=64, BLOCK_K=64),
            *launched(((4, 2), (8, 3)), BLOCK_M=128, BLOCK_K=32),
            *launched(((8, 2), (8, 3)), BLOCK_M=128, BLOCK_K=64),
        ]

    def arrays(self):
        b, n, h, p, s, size = (
            self.batch, self.length, self.heads, self.dim, self.states, self.chunk,
        )  # fmt: skip
        dt = torch.rand(b, h, self.chunks, size, device="cuda") * 0.2
        return arrays(
            CB=draw(b, self.chunks, 1, size, size, dtype=torch.float32, scale=0.2),
            x=draw(b, n, h, p, dtype=torch.float16),
            dt=dt,
            dA=-(dt * 0.3).cumsum(-1),
            C=draw(b, n, 1, s, dtype=torch.float16, scale=0.2),
            before=draw(b, self.chunks, h, p, s, dtype=torch.float32),
            D=draw(h, dtype=torch.float32),
            out=torch.empty(b, n, h, p, device="cuda", dtype=torch.float16),
        )

    def outputs(self, a):
        return [a.out]

    def launch(self, a, config):
        grid = (self.chunks * (self.chunk // config["BLOCK_M"]), self.heads, self.batch)
        return lambda: duality.chunk_scan_kernel[grid](
            a.CB, a.x, a.dt, a.dA, a.C, a.before, a.D, a.out, self.length, self.heads, 1,
            self.chunks, self.dim, self.states, self.chunk, PRECISION=None, **config,
        )  # fmt: skip

    def check(self, a):
        for c in sample(self.chunks, 6):
            at = slice(c * self.chunk, (c + 1) * self.chunk)
            for h in (0, self.heads - 1):
                x, dt, dA = (
                    a.x[-1, at, h].double(),
                    a.dt[-1, h, c].double(),
                    a.dA[-1, h, c].double(),
                )
                gap = (dA[:, None] - dA).tril()
                w = (a.CB[-1, c, 0].double() * gap.exp() * dt).tril()
                state = a.C[-1, at, 0].double() @ a.before[-1, c, h].double().T
                want = w @ x + dA.exp()[:, None] * state + a.D[h].double() * x
                near("out", a.out[-1, at, h], want, 1e-2, 2e-2)


class DeltaState(Row):
    """Gated delta rule: the states between chunks, one pass over the sequence."""

    def __init__(self, batch, length, heads=16, dim=128, chunk=64):
        super().__init__(f"gated delta rule, states, batch {batch} N={length}")
        self.batch, self.length, self.heads, self.dim, self.chunk = batch, length, heads, dim, chunk
        self.flops = 4 * batch * length * heads * dim * dim
        self.configs = [
            *launched(((4, 1), (4, 2), (4, 3), (2, 3)), BV=32),
            *launched(((4, 1), (4, 2), (4, 3), (4, 4), (8, 2)), BV=64),
        ]

    def arrays(self):
        tokens, heads, dim = self.batch * self.length, self.heads, self.dim
        chunks = tokens // self.chunk
        gate = -(
            torch.rand(self.batch, self.length // self.chunk, self.chunk, heads, device="cuda")
        )
        begins = torch.arange(self.batch + 1, device="cuda", dtype=torch.int32)
        scale = dim**-0.5
        return arrays(
            k=draw(tokens, heads, dim, scale=scale),
            w=draw(tokens, heads, dim, scale=scale),
            v=draw(tokens, heads, dim),
            gate=(gate * 0.1).cumsum(2).reshape(tokens, heads),
            initial=torch.zeros(self.batch, heads, dim, dim, device="cuda"),
            states=torch.empty(chunks, heads, dim, dim, device="cuda", dtype=torch.bfloat16),
            news=torch.empty(tokens, heads, dim, device="cuda", dtype=torch.bfloat16),
            final=torch.empty(self.batch, heads, dim, dim, device="cuda"),
            begins=begins * self.length,
            first=begins * (self.length // self.chunk),
        )

    def outputs(self, a):
        return [a.states, a.news, a.final]

    def launch(self, a, config):
        grid = (triton.cdiv(self.dim, config["BV"]), self.batch, self.heads)
        return lambda: delta.state_kernel[grid](
            a.k, a.w, a.v, a.gate, a.initial, a.states, a.news, a.final, a.begins, a.first,
            self.batch * self.length, HEADS=self.heads, K=self.dim, V=self.dim, C=self.chunk,
            **config,
        )  # fmt: skip

    def check(self, a):
        for b, h in ((0, 0), (self.batch - 1, self.heads - 1)):
            at = slice(b * self.length, (b + 1) * self.length)
            k, w, v, gate = (x[at, h].double() for x in (a.k, a.w, a.v, a.gate))
            state = a.initial[b, h].double()
            for begin in range(0, self.length, self.chunk):
                c = slice(begin, begin + self.chunk)
                stored = a.states[(b * self.length + begin) // self.chunk, h]
                near("states", stored, state, 3e-2, 6e-2)
                news = v[c] - w[c] @ state
                decay = (gate[c][-1] - gate[c]).exp()[:, None]
                state = state * gate[c][-1].exp() + k[c].T @ (news * decay)
            near("final", a.final[b, h], state, 3e-2, 6e-2)


class LinearAttention(Row):
    """Linear attention with decay in chunks of 64, forward."""

    backward = False

    def __init__(self, batch, length, heads=16, dim=128):
        what = "gradients" if self.backward else "forward"
        super().__init__(f"linear attention {what}, batch {batch} N={length}")
        self.batch, self.length, self.heads, self.dim = batch, length, heads, dim
        self.flops = batch * length * heads * dim * (4 * dim + 4 * 64)
        self.configs = [
            *launched(((4, 1), (4, 2), (4, 3), (8, 2)), BV=64),
            *launched(((4, 2), (4, 3), (2, 3)), BV=32),
        ]

    def arrays(self):
        shape = (self.batch, self.length, self.heads, self.dim)
        a = arrays(**{name: draw(*shape, scale=0.3) for name in ("q", "k", "v", "do")})
        a.g = -torch.rand(*shape[:3], device="cuda") * 0.2
        a.o, a.dq, a.dk, a.dv = (torch.empty_like(a.q) for _ in range(4))
        return a

    def outputs(self, a):
        return [a.o]

    def launch(self, a, config):
        grid = (self.dim // config["BV"], self.batch * self.heads)
        return lambda: linear.fused_chunk_kernel[grid](
            a.q, a.k, a.v, a.g, a.o, None, None, 0.1, self.length, H=self.heads, K=self.dim,
            V=self.dim, BT=64, PRECISION=None, **config,
        )  # fmt: skip

    def weights(self, a, b, h, rows):
        """Decays exp(G_t - G_s) of rows t and all s, G the sums of g; zero above the diagonal."""
        total = a.g[b, :, h].double().cumsum(0)
        t = torch.arange(self.length, device="cuda")
        gap = total[rows][:, None] - total
        return torch.where(t[rows][:, None] >= t, gap, float("-inf")).exp()

    def check(self, a):
        rows = torch.tensor(sample(self.length, 200), device="cuda")
        for b, h in ((0, 0), (self.batch - 1, self.heads - 1)):
            q, k, v = (x[b, :, h].double() for x in (a.q, a.k, a.v))
            want = 0.1 * (q[rows] @ k.T * self.weights(a, b, h, rows)) @ v
            near("o", a.o[b, rows, h], want, 3e-2, 2e-2)


class LinearAttentionGradients(LinearAttention):
    """Its gradients, two launches."""

    backward = True

    def __init__(self, batch, length):
        super().__init__(batch, length)
        self.flops = 2.5 * self.flops
        self.configs = launched(((4, 1), (4, 2), (8, 1), (8, 2)), BT=64)
        self.own = []

    def outputs(self, a):
        return [a.dq, a.dk, a.dv]

    def launch(self, a, config):
        sizes = {"H": self.heads, "K": self.dim, "V": self.dim, "PRECISION": None}

        def call():
            gradients.linear_attention_dq_kernel[(self.dim // 64, self.batch * self.heads)](
                a.k, a.v, a.do, a.g, a.dq, 0.1, self.length, BK=64, **sizes, **config
            )
            gradients.linear_attention_dkv_kernel[(1, self.batch * self.heads)](
                a.q, a.k, a.v, a.do, a.g, a.dk, a.dv, 0.1, self.length, **sizes, **config
            )

        return call

    def check(self, a):
        rows = torch.arange(self.length, device="cuda")
        for b, h in ((0, 0), (self.batch - 1, self.heads - 1)):
            q, k, v, do = (x[b, :, h].double() for x in (a.q, a.k, a.v, a.do))
            decay = self.weights(a, b, h, rows)
            ds = 0.1 * (do @ v.T) * decay
            near("dq", a.dq[b, :, h], ds @ k, 3e-2, 3e-2)
            near("dk", a.dk[b, :, h], ds.T @ q, 3e-2, 3e-2)
            near("dv", a.dv[b, :, h], 0.1 * (q @ k.T * decay).T @ do, 3e-2, 3e-2)


ROWS = [
    ChunkScan(8, 4096),
    ChunkScan(1, 32768),
    DeltaState(4, 4096),
    LinearAttention(4, 4096),
    LinearAttentionGradients(4, 4096),
]
