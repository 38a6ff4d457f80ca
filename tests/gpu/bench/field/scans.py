"""State-space models and linear attention: scans, causal convolution, chunks, the delta rule."""

import importlib

from field_case import Case, cases_of, corpus, sigmoid

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
selective = corpus("test_selective_scan", PACKAGE)
convolution = corpus("test_causal_conv", PACKAGE)
linear = corpus("test_linear_attention", PACKAGE)
delta = corpus("test_delta_state", PACKAGE)
cumulative = corpus("test_row_cumsum", PACKAGE)
SCANNED = (1e-3, 1e-3)


def recurrence(xp, decay, values):
    """h_t = decay_t h_(t-1) + values_t along the first axis."""
    h, steps = 0 * values[0], []
    for t in range(len(values)):
        h = decay[t] * h + values[t]
        steps.append(h)
    return xp.f.stack(steps)


def softplus(xp, x):
    """log(1 + e^x)."""
    return xp.f.log1p(xp.f.exp(x))


class SelectiveScan(Case):
    full = dict(batch=4, dim=2048, length=1024, states=16)
    small = dict(batch=2, dim=21, length=40, states=12)
    bounds = {"y": SCANNED, "last": SCANNED}

    def inputs(self, draw, batch, dim, length, states):
        shape = (batch, dim, length)
        return {
            **{name: draw.normal(shape, "bf16") for name in ("u", "delta", "z")},
            **{name: draw.normal((batch, states, length), "bf16") for name in "bc"},
            "a": -abs(draw.normal((dim, states))) - 0.1,
            "d": draw.normal(dim),
        }

    def outputs(self, batch, dim, length, states):
        return {"y": ((batch, dim, length), "fp32"), "last": ((batch, dim, states), "fp32")}

    def launch(self, a, batch, dim, length, states):
        selective.stepped_scan_kernel[(triton.cdiv(dim, 16), batch)](
            a.u, a.delta, a.a, a.b, a.c, a.d, a.z, a.y, a.last, length, dim, states,
            BLOCK_D=16, BLOCK_N=16, HAS_Z=True, num_warps=1,
        )  # fmt: skip

    def expected(self, xp, a, batch, dim, length, states):
        wide = {name: xp.wide(getattr(a, name)) for name in ("u", "delta", "z", "b", "c", "a")}
        u, dt, h, y = wide["u"], softplus(xp, wide["delta"]), 0.0, []
        for t in range(length):
            step = dt[:, :, t, None]
            news = step * u[:, :, t, None] * wide["b"][:, None, :, t]
            h = xp.f.exp(step * wide["a"]) * h + news
            y.append((h * wide["c"][:, None, :, t]).sum(axis=2))
        y = xp.f.stack(y, 2) + xp.wide(a.d)[:, None] * u
        return {"y": y * wide["z"] * sigmoid(xp, wide["z"]), "last": h}


class BlockScan(Case):
    full, small = dict(length=4096, channels=16384), dict(length=100, channels=37)
    bounds = {"h": SCANNED}

    def inputs(self, draw, length, channels):
        shape = (length, channels)
        return {
            "a": draw.narrow(sigmoid(draw, draw.wide(draw.normal(shape)))),
            "x": draw.normal(shape),
        }

    def outputs(self, length, channels):
        return {"h": ((length, channels), "fp32")}

    def launch(self, a, length, channels):
        grid = (triton.cdiv(channels, 32),)
        selective.block_scan_kernel[grid](a.a, a.x, a.h, length, channels, BLOCK_T=64, BLOCK_C=32)

    def expected(self, xp, a, length, channels):
        return {"h": recurrence(xp, xp.wide(a.a), xp.wide(a.x))}


class StateUpdate(Case):
    full, small = dict(batch=256, dim=4096, states=16), dict(batch=3, dim=77, states=12)
    updated = ("state",)
    bounds = {"state": SCANNED, "y": SCANNED}

    def inputs(self, draw, batch, dim, states):
        return {
            "state": draw.normal((batch, dim, states)),
            **{name: draw.normal((batch, dim), "bf16") for name in ("x", "dt")},
            **{name: draw.normal((batch, states), "bf16") for name in "bc"},
            "bias": draw.normal(dim),
            "a": -abs(draw.normal((dim, states))),
            "d": draw.normal(dim),
        }

    def outputs(self, batch, dim, states):
        return {"y": ((batch, dim), "fp32")}

    def launch(self, a, batch, dim, states):
        selective.state_update_kernel[(triton.cdiv(dim, 64), batch)](
            a.state, a.x, a.dt, a.bias, a.a, a.b, a.c, a.d, a.y, None, dim, states, -1,
            HAS_INDICES=False, BLOCK_D=64, BLOCK_N=16,
        )  # fmt: skip

    def expected(self, xp, a, batch, dim, states):
        dt = softplus(xp, xp.wide(a.dt) + xp.wide(a.bias))[:, :, None]
        x = xp.wide(a.x)[:, :, None]
        state = xp.wide(a.state) * xp.f.exp(dt * xp.wide(a.a))
        state = state + xp.wide(a.b)[:, None] * dt * x
        y = (state * xp.wide(a.c)[:, None]).sum(axis=2) + xp.wide(a.x) * xp.wide(a.d)
        return {"state": state, "y": y}


class CausalConv(Case):
    full = dict(lengths=(1024, 333, 2048, 1, 4690), dim=4096, width=4)
    small = dict(lengths=(37, 1, 70), dim=50, width=4)

    def inputs(self, draw, lengths, dim, width):
        ends = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        return {
            "x": draw.normal((ends[-1], dim), "bf16"),
            "w": draw.normal((dim, width), "bf16"),
            "bias": draw.normal(dim),
            "initial": draw.normal((len(lengths), dim, width - 1), "bf16"),
            "has": draw.array([i % 2 for i in range(len(lengths))], "i8"),
            "starts": draw.array(ends, "i32"),
        }

    def outputs(self, lengths, dim, width):
        return {"y": ((sum(lengths), dim), "bf16")}

    def launch(self, a, lengths, dim, width):
        grid = (len(lengths), triton.cdiv(max(lengths), 32), triton.cdiv(dim, 128))
        convolution.packed_conv_kernel[grid](
            a.x, a.w, a.bias, a.initial, a.has, a.starts, a.y, dim, dim,
            WIDTH=width, HAS_BIAS=True, SILU=True, BLOCK_T=32, BLOCK_D=128,
        )  # fmt: skip

    def expected(self, xp, a, lengths, dim, width):
        x, w, out, first = xp.wide(a.x), xp.wide(a.w), [], 0
        for i, length in enumerate(lengths):
            before = xp.wide(a.initial[i]).T * int(a.has[i])
            padded = xp.f.concatenate([before, x[first : first + length]])
            taps = [padded[tap : tap + length] * w[:, tap] for tap in range(width)]
            out.append(sum(taps) + xp.wide(a.bias))
            first += length
        y = xp.f.concatenate(out)
        return {"y": y * sigmoid(xp, y)}


class LinearAttentionInChunks(Case):
    full = dict(batch=4, length=2048, heads=8, dim=128)
    small = dict(batch=1, length=37, heads=2, dim=16)
    # Scores of up to 60 and the state are rounded to bf16 before they are multiplied.
    bounds = {"o": (2e-2, 0.1)}

    def inputs(self, draw, batch, length, heads, dim):
        shape = (batch, length, heads, dim)
        return {
            **{name: draw.normal(shape, "bf16") for name in "qkv"},
            "g": -abs(draw.normal(shape[:3], "fp32", 0.5)),
        }

    def outputs(self, batch, length, heads, dim):
        return {"o": ((batch, length, heads, dim), "bf16")}

    def launch(self, a, batch, length, heads, dim):
        chunk, block = (64, 64) if length > 64 else (16, 16)
        linear.fused_chunk_kernel[(dim // block, batch * heads)](
            a.q, a.k, a.v, a.g, a.o, None, None, 0.1, length, H=heads, K=dim, V=dim, BT=chunk,
            BV=block, PRECISION="ieee", num_stages=2,
        )  # fmt: skip

    def expected(self, xp, a, batch, length, heads, dim):
        q, k, v = (xp.wide(x) for x in (a.q, a.k, a.v))
        decay, state, out = xp.f.exp(xp.wide(a.g)), 0.0, []
        for t in range(length):
            state = decay[:, t, :, None, None] * state + k[:, t, :, :, None] * v[:, t, :, None]
            out.append(0.1 * (q[:, t, :, :, None] * state).sum(axis=2))
        return {"o": xp.f.stack(out, 1)}


def inverse(xp, lower):
    """(I + the part of `lower` strictly below the diagonal)^-1."""
    return xp.f.linalg.inv(xp.f.tril(lower, -1) + xp.wide(xp.f.eye(lower.shape[-1])))


class TriangularInverse(Case):
    full = dict(tokens=16384, heads=16, chunk=64)
    small = dict(tokens=64, heads=2, chunk=16)
    bounds = {"x": (1e-3, 1e-3)}

    def inputs(self, draw, tokens, heads, chunk):
        return {"a": draw.normal((tokens, heads, chunk), "fp32", 0.1)}

    def outputs(self, tokens, heads, chunk):
        return {"x": ((tokens, heads, chunk), "fp32")}

    def launch(self, a, tokens, heads, chunk):
        delta.inverse_kernel[(tokens // chunk, heads)](
            a.a, a.x, None, None, tokens, HEADS=heads, C=chunk
        )

    def expected(self, xp, a, tokens, heads, chunk):
        lower = xp.f.swapaxes(xp.wide(a.a).reshape(-1, chunk, heads, chunk), 1, 2)
        return {"x": xp.f.swapaxes(inverse(xp, lower), 1, 2).reshape(tokens, heads, chunk)}


class DeltaRulePrepare(Case):
    full = dict(batch=4, length=4096, heads=8, dim=128, chunk=64)
    small = dict(batch=1, length=32, heads=2, dim=16, chunk=16)
    bounds = {"w": (3e-2, 3e-2), "u": (3e-2, 3e-2)}

    def inputs(self, draw, batch, length, heads, dim, chunk):
        shape = (batch, length, heads, dim)
        return {
            "k": draw.normal(shape, "bf16", dim**-0.5),
            "v": draw.normal(shape, "bf16"),
            "beta": draw.narrow(sigmoid(draw, draw.wide(draw.normal(shape[:3])))),
        }

    def outputs(self, batch, length, heads, dim, chunk):
        return {name: ((batch, length, heads, dim), "bf16") for name in "wu"}

    def launch(self, a, batch, length, heads, dim, chunk):
        linear.delta_prepare_kernel[(length // chunk, batch * heads)](
            a.k, a.v, a.beta, a.w, a.u, length, H=heads, K=dim, V=dim, BT=chunk, PRECISION="ieee"
        )

    def expected(self, xp, a, batch, length, heads, dim, chunk):
        def chunked(x):
            return xp.f.swapaxes(xp.wide(x).reshape(-1, chunk, heads, dim), 1, 2)

        def whole(x):
            return xp.f.swapaxes(x, 1, 2).reshape(batch, length, heads, dim)

        k, v = chunked(a.k), chunked(a.v)
        beta = xp.f.swapaxes(xp.wide(a.beta).reshape(-1, chunk, heads), 1, 2)[..., None]
        solve = inverse(xp, (beta * k) @ xp.f.swapaxes(k, 2, 3))
        return {"w": whole(solve @ (beta * k)), "u": whole(solve @ (beta * v))}


class RowCumsum(Case):
    full, small = dict(rows=8192, n=8192), dict(rows=5, n=300)
    bounds = {"out": (1e-4, 2e-3)}

    def inputs(self, draw, rows, n):
        return {"x": draw.normal((rows, n))}

    def outputs(self, rows, n):
        return {"out": ((rows, n), "fp32")}

    def launch(self, a, rows, n):
        cumulative.carried_cumsum_kernel[(triton.cdiv(rows, 2),)](
            a.x, a.out, rows, n, ROWS=2, COLS=1024 if n > 1024 else 128, REVERSE=False
        )

    def expected(self, xp, a, rows, n):
        return {"out": xp.f.cumsum(xp.wide(a.x), axis=1)}


CASES = cases_of(dict(globals()))
