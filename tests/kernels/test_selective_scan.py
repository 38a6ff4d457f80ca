"""The selective scan of state-space models: h_t = a_t h_(t-1) + b_t x_t, y_t = c_t h_t + D x_t.

One kernel steps through time with the state in registers, one scans blocks of time by
`associative_scan`, forward and, for the gradient, in reverse. A third updates the state for one
token of decoding. fp32 within 1e-4.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def softplus(x):
    return tl.where(x <= 20.0, tl.math.log(1.0 + tl.math.exp(x)), x)


@triton.jit
def combine_linear(a_left, b_left, a_right, b_right):
    """First left, then right: x -> a_right (a_left x + b_left) + b_right."""
    return a_right * a_left, a_right * b_left + b_right


@triton.jit
def stepped_scan_kernel(
    u_ptr, delta_ptr, A_ptr, B_ptr, C_ptr, D_ptr, z_ptr, out_ptr, last_ptr,
    length, dim, dstate,
    BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr, HAS_Z: tl.constexpr,
):  # fmt: skip
    """u, delta, z and out are (batch, dim, length); B and C (batch, dstate, length)."""
    batch = tl.program_id(1)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    n = tl.arange(0, BLOCK_N)
    d_mask, n_mask = d < dim, n < dstate
    both = d_mask[:, None] & n_mask[None, :]
    A = tl.load(A_ptr + d[:, None] * dstate + n[None, :], mask=both, other=0.0)
    D = tl.load(D_ptr + d, mask=d_mask, other=0.0)
    h = tl.zeros((BLOCK_D, BLOCK_N), dtype=tl.float32)
    row = (batch * dim + d) * length
    col = (batch * dstate + n) * length
    for t in range(length):
        u = tl.load(u_ptr + row + t, mask=d_mask, other=0.0).to(tl.float32)
        dt = softplus(tl.load(delta_ptr + row + t, mask=d_mask, other=0.0).to(tl.float32))
        b = tl.load(B_ptr + col + t, mask=n_mask, other=0.0).to(tl.float32)
        c = tl.load(C_ptr + col + t, mask=n_mask, other=0.0).to(tl.float32)
        h = tl.exp(dt[:, None] * A) * h + (dt * u)[:, None] * b[None, :]
        y = tl.sum(h * c[None, :], axis=1) + D * u
        if HAS_Z:
            z = tl.load(z_ptr + row + t, mask=d_mask, other=0.0).to(tl.float32)
            y *= z * tl.sigmoid(z)
        tl.store(out_ptr + row + t, y, mask=d_mask)
    tl.store(last_ptr + (batch * dim + d[:, None]) * dstate + n[None, :], h, mask=both)


@triton.jit
def block_scan_kernel(
    a_ptr, x_ptr, h_ptr, length, channels, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr
):
    """h_t = a_t h_(t-1) + x_t over (length, channels), scanned in blocks."""
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    offs_t = tl.arange(0, BLOCK_T)
    carry = tl.zeros((BLOCK_C,), tl.float32)
    for start in range(0, length, BLOCK_T):
        t = start + offs_t
        at = t[:, None] * channels + c[None, :]
        mask = (t[:, None] < length) & (c[None, :] < channels)
        a = tl.load(a_ptr + at, mask=mask, other=1.0).to(tl.float32)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        decay, local = tl.associative_scan((a, x), 0, combine_linear)
        h = decay * carry[None, :] + local
        tl.store(h_ptr + at, h, mask=mask)
        carry = tl.sum(tl.where(offs_t[:, None] == BLOCK_T - 1, h, 0.0), axis=0)


@triton.jit
def block_scan_backward_kernel(
    a_ptr, h_ptr, dh_ptr, dx_ptr, da_ptr, length, channels, T: tl.constexpr, BLOCK_C: tl.constexpr
):
    """g_t = dh_t + a_(t+1) g_(t+1) by one scan in reverse; dx = g, da_t = g_t h_(t-1)."""
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
    t = tl.arange(0, T)[:, None]
    mask = (t < length) & (c < channels)
    at = t * channels + c
    a_next = tl.load(a_ptr + at + channels, mask=mask & (t + 1 < length), other=0.0)
    dh = tl.load(dh_ptr + at, mask=mask, other=0.0)
    _, g = tl.associative_scan((a_next, dh), axis=0, combine_fn=combine_linear, reverse=True)
    h_before = tl.load(h_ptr + at - channels, mask=mask & (t > 0), other=0.0)
    tl.store(dx_ptr + at, g, mask=mask)
    tl.store(da_ptr + at, g * h_before, mask=mask)


@triton.jit
def state_update_kernel(
    state_ptr, x_ptr, dt_ptr, dt_bias_ptr, A_ptr, B_ptr, C_ptr, D_ptr, out_ptr, indices_ptr,
    dim, dstate, pad_slot,
    HAS_INDICES: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One token: the states lie in slots that `indices` names, padding does nothing."""
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    batch = tl.program_id(1)
    slot = batch.to(tl.int64)
    if HAS_INDICES:
        slot = tl.load(indices_ptr + batch).to(tl.int64)
        if slot == pad_slot:
            return
    n = tl.arange(0, BLOCK_N)
    both = (d[:, None] < dim) & (n[None, :] < dstate)
    at = (slot * dim + d[:, None]) * dstate + n[None, :]
    state = tl.load(state_ptr + at, mask=both, other=0.0)
    x = tl.load(x_ptr + batch * dim + d, mask=d < dim, other=0.0).to(tl.float32)
    dt = tl.load(dt_ptr + batch * dim + d, mask=d < dim, other=0.0).to(tl.float32)
    dt = softplus(dt + tl.load(dt_bias_ptr + d, mask=d < dim, other=0.0))
    A = tl.load(A_ptr + d[:, None] * dstate + n[None, :], mask=both, other=0.0)
    B = tl.load(B_ptr + batch * dstate + n, mask=n < dstate, other=0.0).to(tl.float32)
    C = tl.load(C_ptr + batch * dstate + n, mask=n < dstate, other=0.0).to(tl.float32)
    state = state * tl.exp(A * dt[:, None]) + B[None, :] * dt[:, None] * x[:, None]
    tl.store(state_ptr + at, state, mask=both)
    y = tl.sum(state * C[None, :], axis=1) + x * tl.load(D_ptr + d, mask=d < dim, other=0.0)
    tl.store(out_ptr + batch * dim + d, y, mask=d < dim)


def scan(a, x):
    """h_t = a_t h_(t-1) + x_t along the first axis, in float64."""
    h, state = np.empty(x.shape), np.zeros(x.shape[1:])
    for t in range(len(x)):
        state = a[t] * state + x[t]
        h[t] = state
    return h


def model(u, delta, A, B, C, D):
    """y (batch, dim, length) and the last state."""
    u, delta, B, C = (x.astype(np.float64) for x in (u, delta, B, C))
    dt = np.log1p(np.exp(delta))
    decay = np.exp(np.einsum("bdt,dn->tbdn", dt, A))
    h = scan(decay, np.einsum("bdt,bnt->tbdn", dt * u, B))
    return np.einsum("tbdn,bnt->bdt", h, C) + D[:, None] * u, h[-1]


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("dtype, dstate", [("fp32", 16), ("bf16", 12)])
def test_stepped(device, dtype, dstate, gated):
    """A scan step by step gives the outputs and the last state of float64."""
    batch, dim, length = (3, 200, 300) if device.on_gpu else (2, 21, 40)
    u, delta, z = (random((batch, dim, length), dtype, seed) for seed in (1, 2, 3))
    B, C = (random((batch, dstate, length), dtype, seed) for seed in (4, 5))
    A, D = -np.exp(random((dim, dstate), "fp32", 6)), random(dim, "fp32", 7)
    out, last = device.output(u.shape, "fp32"), device.output((batch, dim, dstate), "fp32")
    stepped_scan_kernel[(triton.cdiv(dim, 16), batch)](
        *map(device.to, (u, delta, A, B, C, D)), device.to(z) if gated else None, out.array,
        last.array, length, dim, dstate, BLOCK_D=16, BLOCK_N=16, HAS_Z=gated,
    )  # fmt: skip
    expected, state = model(u, delta, A, B, C, D)
    if gated:
        wide = z.astype(np.float64)
        expected *= wide / (1 + np.exp(-wide))
    np.testing.assert_allclose(out.numpy(), expected, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(last.numpy(), state, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "length, channels, block", [(100, 37, (32, 16)), (17, 5, (64, 8)), (64, 64, (16, 64))]
)
def test_blocks(device, length, channels, block):
    """A scan by blocks is that of the recurrence."""
    if device.on_gpu:
        length, channels = length * 10, channels * 5
    a = 1 / (1 + np.exp(-random((length, channels), "fp32", 8)))
    x = random((length, channels), "fp32", 9)
    h = device.output(x.shape, "fp32")
    block_scan_kernel[(triton.cdiv(channels, block[1]),)](
        device.to(a), device.to(x), h.array, length, channels, BLOCK_T=block[0], BLOCK_C=block[1]
    )
    np.testing.assert_allclose(h.numpy(), scan(a, x), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("length, channels", [(50, 19), (128, 8)])
def test_blocks_backward(device, length, channels):
    a, x, dh = (random((length, channels), "fp32", seed) for seed in (10, 11, 12))
    a = np.tanh(a)
    h = scan(a, x).astype(np.float32)
    dx, da = device.output(x.shape, "fp32"), device.output(x.shape, "fp32")
    block_scan_backward_kernel[(triton.cdiv(channels, 8),)](
        *map(device.to, (a, h, dh)), dx.array, da.array, length, channels,
        T=triton.next_power_of_2(length), BLOCK_C=8,
    )  # fmt: skip
    following = np.concatenate([a[1:], np.zeros((1, channels))])
    g = scan(following[::-1], dh[::-1])[::-1]
    before = np.concatenate([np.zeros((1, channels)), h[:-1]])
    np.testing.assert_allclose(dx.numpy(), g, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(da.numpy(), g * before, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("indexed", [False, True])
def test_state_update(device, indexed):
    """A step of decoding updates the states of the slots that are used, and no others."""
    batch, dim, dstate, slots = 5, 70, 24, 9
    slot = np.array([7, 2, -1, 0, 5], np.int32) if indexed else np.arange(batch, dtype=np.int32)
    state = random((slots, dim, dstate), "fp32", 13)
    x, dt = random((batch, dim), "bf16", 14), random((batch, dim), "bf16", 15)
    B, C = random((batch, dstate), "bf16", 16), random((batch, dstate), "bf16", 17)
    A, D, bias = (
        -np.exp(random((dim, dstate), "fp32", 18)),
        random(dim, "fp32", 19),
        random(dim, "fp32", 20),
    )
    d_state, out = device.to(state.copy()), device.output((batch, dim), "fp32")
    state_update_kernel[(triton.cdiv(dim, 32), batch)](
        d_state, *map(device.to, (x, dt, bias, A, B, C, D)), out.array,
        device.to(slot) if indexed else None, dim, dstate, -1,
        HAS_INDICES=indexed, BLOCK_D=32, BLOCK_N=32,
    )  # fmt: skip
    expected, used = state.astype(np.float64), slot >= 0
    step = np.log1p(np.exp(dt.astype(np.float64) + bias))
    new = expected[slot] * np.exp(A * step[..., None])
    new += (step * x.astype(np.float64))[..., None] * B.astype(np.float64)[:, None]
    y = np.einsum("bdn,bn->bd", new, C.astype(np.float64)) + D * x.astype(np.float64)
    expected[slot[used]] = new[used]
    np.testing.assert_allclose(device.numpy(d_state), expected, atol=1e-4, rtol=1e-4)
    result = out.numpy()
    np.testing.assert_allclose(result[used], y[used], atol=1e-4, rtol=1e-4)
    assert np.isnan(result[~used]).all()
