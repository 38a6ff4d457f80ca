"""State-space duality in chunks: five kernels give what the recurrence gives token by token.

Cumulated decays of each chunk, the chunks' own states, states passed along, the dots C B^T, and
the outputs of a chunk from its own tokens and from the state before it. Arrays are (batch, length,
heads or groups, dim); several heads use a group's B and C. fp32 dots in IEEE within 1e-3,
fp16 within 1e-2 of the largest output.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _softplus(x):
    return tl.where(x <= 20.0, tl.log(1.0 + tl.exp(x)), x)


@triton.jit
def chunk_cumsum_kernel(
    dt_ptr, A_ptr, bias_ptr, dt_out_ptr, dA_cumsum_ptr, length, heads, chunks,
    CHUNK: tl.constexpr, BLOCK_H: tl.constexpr,
):  # fmt: skip
    """dt (batch, length, heads) gives dt and cumulated dt A as (batch, heads, chunks, CHUNK)."""
    b, c = tl.program_id(0), tl.program_id(1)
    h = tl.program_id(2) * BLOCK_H + tl.arange(0, BLOCK_H)
    i = tl.arange(0, CHUNK)
    t = c * CHUNK + i
    mask = (h < heads)[:, None] & (t < length)[None, :]
    dt = tl.load(dt_ptr + (b * length + t[None, :]) * heads + h[:, None], mask=mask, other=0.0)
    dt = _softplus(dt.to(tl.float32) + tl.load(bias_ptr + h, mask=h < heads, other=0.0)[:, None])
    dt = tl.where(mask, tl.clamp(dt, 1e-4, 8.0), 0.0)
    dA = dt * tl.load(A_ptr + h, mask=h < heads, other=0.0)[:, None]
    at = ((b * heads + h[:, None]) * chunks + c) * CHUNK + i[None, :]
    tl.store(dt_out_ptr + at, dt, mask=(h < heads)[:, None])
    tl.store(dA_cumsum_ptr + at, tl.cumsum(dA, axis=1), mask=(h < heads)[:, None])


@triton.jit
def chunk_state_kernel(
    x_ptr, B_ptr, dt_ptr, dA_ptr, states_ptr, length, heads, groups, chunks,
    P: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr, BLOCK_K: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """A chunk's own state, (P, N): the sum over its tokens of x dt decay-to-the-end B."""
    c, h, b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    g = h // (heads // groups)
    p, n = tl.arange(0, P), tl.arange(0, N)
    base = ((b * heads + h) * chunks + c) * CHUNK
    last = tl.load(dA_ptr + base + CHUNK - 1)
    acc = tl.zeros((P, N), tl.float32)
    for start in range(0, min(CHUNK, length - c * CHUNK), BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        t = c * CHUNK + k
        x = tl.load(
            x_ptr + ((b * length + t[None, :]) * heads + h) * P + p[:, None],
            mask=t[None, :] < length, other=0.0,
        )  # fmt: skip
        B = tl.load(
            B_ptr + ((b * length + t[:, None]) * groups + g) * N + n[None, :],
            mask=t[:, None] < length, other=0.0,
        )  # fmt: skip
        scale = tl.exp(last - tl.load(dA_ptr + base + k)) * tl.load(dt_ptr + base + k)
        B = (B.to(tl.float32) * scale[:, None]).to(x.dtype)
        acc += tl.dot(x, B, input_precision=PRECISION)
    out = states_ptr + ((b * chunks + c) * heads + h) * P * N
    tl.store(out + p[:, None] * N + n[None, :], acc)


@triton.jit
def state_passing_kernel(
    states_ptr, before_ptr, final_ptr, dA_ptr, initial_ptr, size, heads, chunks,
    CHUNK: tl.constexpr, BLOCK: tl.constexpr, HAS_INITIAL: tl.constexpr,
):  # fmt: skip
    b, h = tl.program_id(1), tl.program_id(2)
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = e < size
    state = tl.zeros((BLOCK,), tl.float32)
    if HAS_INITIAL:
        state = tl.load(initial_ptr + (b * heads + h) * size + e, mask=mask, other=0.0)
    for c in range(chunks):
        at = ((b * chunks + c) * heads + h) * size + e
        tl.store(before_ptr + at, state, mask=mask)
        decay = tl.exp(tl.load(dA_ptr + ((b * heads + h) * chunks + c) * CHUNK + CHUNK - 1))
        state = decay * state + tl.load(states_ptr + at, mask=mask, other=0.0)
    tl.store(final_ptr + (b * heads + h) * size + e, state, mask=mask)


@triton.jit
def chunk_products_kernel(
    C_ptr, B_ptr, CB_ptr, length, groups, chunks,
    N: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """C B^T of a chunk, blocks above the diagonal left out."""
    tiles: tl.constexpr = CHUNK // BLOCK
    c, g, b = tl.program_id(0) // (tiles * tiles), tl.program_id(1), tl.program_id(2)
    tile = tl.program_id(0) % (tiles * tiles)
    row, col = tile // tiles, tile % tiles
    if col > row:
        return
    n = tl.arange(0, N)
    i, j = row * BLOCK + tl.arange(0, BLOCK), col * BLOCK + tl.arange(0, BLOCK)
    ti, tj = c * CHUNK + i, c * CHUNK + j
    C = tl.load(
        C_ptr + ((b * length + ti[:, None]) * groups + g) * N + n[None, :],
        mask=ti[:, None] < length, other=0.0,
    )  # fmt: skip
    B = tl.load(
        B_ptr + ((b * length + tj[None, :]) * groups + g) * N + n[:, None],
        mask=tj[None, :] < length, other=0.0,
    )  # fmt: skip
    out = CB_ptr + ((b * chunks + c) * groups + g) * CHUNK * CHUNK
    products = tl.dot(C, B, input_precision=PRECISION)
    tl.store(out + i[:, None] * CHUNK + j[None, :], products)


@triton.jit
def chunk_scan_kernel(
    CB_ptr, x_ptr, dt_ptr, dA_ptr, C_ptr, before_ptr, D_ptr, out_ptr, length, heads, groups, chunks,
    P: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    c, h, b = tl.program_id(0) // (CHUNK // BLOCK_M), tl.program_id(1), tl.program_id(2)
    first = (tl.program_id(0) % (CHUNK // BLOCK_M)) * BLOCK_M
    g = h // (heads // groups)
    p, n = tl.arange(0, P), tl.arange(0, N)
    i = first + tl.arange(0, BLOCK_M)
    t = c * CHUNK + i
    base = ((b * heads + h) * chunks + c) * CHUNK
    dA_i = tl.load(dA_ptr + base + i)
    C = tl.load(
        C_ptr + ((b * length + t[:, None]) * groups + g) * N + n[None, :],
        mask=t[:, None] < length, other=0.0,
    )  # fmt: skip
    state = tl.load(
        before_ptr + ((b * chunks + c) * heads + h) * P * N + p[None, :] * N + n[:, None]
    )
    acc = tl.dot(C, state.to(C.dtype), input_precision=PRECISION) * tl.exp(dA_i)[:, None]
    cb = CB_ptr + ((b * chunks + c) * groups + g) * CHUNK * CHUNK
    for start in range(0, first + BLOCK_M, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        tk = c * CHUNK + k
        causal = i[:, None] >= k[None, :]
        w = tl.load(cb + i[:, None] * CHUNK + k[None, :], mask=causal, other=0.0)
        gap = tl.where(causal, dA_i[:, None] - tl.load(dA_ptr + base + k)[None, :], 0.0)
        w = w * tl.exp(gap) * tl.load(dt_ptr + base + k)[None, :]
        x = tl.load(
            x_ptr + ((b * length + tk[:, None]) * heads + h) * P + p[None, :],
            mask=tk[:, None] < length, other=0.0,
        )  # fmt: skip
        acc = tl.dot(w.to(x.dtype), x, acc, input_precision=PRECISION)
    at = ((b * length + t[:, None]) * heads + h) * P + p[None, :]
    x = tl.load(x_ptr + at, mask=t[:, None] < length, other=0.0).to(tl.float32)
    acc += x * tl.load(D_ptr + h)
    tl.store(out_ptr + at, acc, mask=t[:, None] < length)


def by_token(x, dt, A, B, C, D, bias, initial):
    """The recurrence in float64: outputs (batch, length, heads, P) and the last state."""
    x, B, C = (a.astype(np.float64) for a in (x, B, C))
    step = np.clip(np.log1p(np.exp(dt.astype(np.float64) + bias)), 1e-4, 8.0)
    share = x.shape[2] // B.shape[2]
    B, C = np.repeat(B, share, axis=2), np.repeat(C, share, axis=2)
    state, out = initial.astype(np.float64), np.empty(x.shape)
    for t in range(x.shape[1]):
        state = state * np.exp(step[:, t] * A)[..., None, None]
        state = state + np.einsum("bhp,bhn->bhpn", x[:, t] * step[:, t][..., None], B[:, t])
        out[:, t] = np.einsum("bhpn,bhn->bhp", state, C[:, t]) + D[:, None] * x[:, t]
    return out, state


@pytest.mark.parametrize("dtype, initial", [("fp32", True), ("fp16", False)])
def test_chunks(device, dtype, initial):
    """Five kernels over chunks give the outputs and states of the recurrence."""
    b, length, heads, groups = (2, 500, 8, 2) if device.on_gpu else (1, 75, 4, 2)
    P, N, CHUNK, BLOCK = (64, 64, 64, 32) if device.on_gpu else (32, 16, 32, 16)
    chunks = triton.cdiv(length, CHUNK)
    x, dt = random((b, length, heads, P), dtype, 1), random((b, length, heads), dtype, 2)
    B, C = (random((b, length, groups, N), dtype, seed) for seed in (3, 4))
    A, D, bias = (
        -np.exp(random(heads, "fp32", 5)),
        random(heads, "fp32", 6),
        random(heads, "fp32", 7),
    )
    start = random((b, heads, P, N), "fp32", 8) * np.float32(initial)
    d_x, d_dt, d_B, d_C, d_A, d_D, d_bias = map(device.to, (x, dt, B, C, A, D, bias))
    precision = "ieee" if dtype == "fp32" else None
    dts, sums = (device.output((b, heads, chunks, CHUNK), "fp32") for _ in range(2))
    states, before = (device.output((b, chunks, heads, P, N), "fp32") for _ in range(2))
    final, out = device.output(start.shape, "fp32"), device.output(x.shape, "fp32")
    CB = device.to(np.full((b, chunks, groups, CHUNK, CHUNK), np.nan, np.float32))
    chunk_cumsum_kernel[(b, chunks, triton.cdiv(heads, 2))](
        d_dt, d_A, d_bias, dts.array, sums.array, length, heads, chunks, CHUNK=CHUNK, BLOCK_H=2
    )
    chunk_state_kernel[(chunks, heads, b)](
        d_x, d_B, dts.array, sums.array, states.array, length, heads, groups, chunks,
        P, N, CHUNK, BLOCK_K=16, PRECISION=precision,
    )  # fmt: skip
    state_passing_kernel[(triton.cdiv(P * N, 256), b, heads)](
        states.array, before.array, final.array, sums.array, device.to(start), P * N, heads, chunks,
        CHUNK=CHUNK, BLOCK=256, HAS_INITIAL=initial,
    )  # fmt: skip
    chunk_products_kernel[(chunks * (CHUNK // BLOCK) ** 2, groups, b)](
        d_C, d_B, CB, length, groups, chunks, N, CHUNK, BLOCK, precision
    )
    chunk_scan_kernel[(chunks * (CHUNK // BLOCK), heads, b)](
        CB, d_x, dts.array, sums.array, d_C, before.array, d_D, out.array, length, heads, groups,
        chunks, P, N, CHUNK, BLOCK_M=BLOCK, BLOCK_K=16, PRECISION=precision,
    )  # fmt: skip
    expected, state = by_token(x, dt, A, B, C, D, bias, start)
    share = 1e-3 if dtype == "fp32" else 1e-2
    np.testing.assert_allclose(out.numpy(), expected, atol=share * np.abs(expected).max(), rtol=0)
    np.testing.assert_allclose(final.numpy(), state, atol=share * np.abs(state).max(), rtol=0)
