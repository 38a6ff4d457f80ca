"""Short causal convolutions over channels, as before a selective scan: packed, and one token.

The kernel of width 2 to 4 lives in registers, taps are unrolled by `static_range`; decoding shifts
a state in place. SiLU and bias are flags. fp32 within 1e-5, 16-bit types within two of their
roundings.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

ALLOWED = {"fp32": 1e-5, "fp16": 4e-3, "bf16": 3.2e-2}


@triton.jit
def _activate(x, SILU: tl.constexpr):
    if SILU:
        x = x / (1 + tl.exp(-x))
    return x


@triton.jit
def packed_conv_kernel(
    x_ptr, w_ptr, bias_ptr, initial_ptr, has_initial_ptr, cu_ptr, out_ptr, dim, stride_token,
    WIDTH: tl.constexpr, HAS_BIAS: tl.constexpr, SILU: tl.constexpr,
    BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Packed tokens (tokens, dim); what came before is `initial`, (sequences, dim, WIDTH - 1)."""
    seq = tl.program_id(0)
    start, stop = tl.load(cu_ptr + seq), tl.load(cu_ptr + seq + 1)
    length = stop - start
    first = tl.program_id(1) * BLOCK_T
    if first >= length:
        return
    d = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    d_mask = d < dim
    t = first + tl.arange(0, BLOCK_T)
    acc = tl.zeros((BLOCK_T, BLOCK_D), tl.float32)
    if HAS_BIAS:
        acc += tl.load(bias_ptr + d, mask=d_mask, other=0.0).to(tl.float32)[None, :]
    use_initial = tl.load(has_initial_ptr + seq).to(tl.int1)
    for tap in tl.static_range(WIDTH):
        source = t - (WIDTH - 1) + tap
        w = tl.load(w_ptr + d * WIDTH + tap, mask=d_mask, other=0.0).to(tl.float32)
        now = (source >= 0) & (t < length)
        x = tl.load(
            x_ptr + (start + source).to(tl.int64)[:, None] * stride_token + d[None, :],
            mask=now[:, None] & d_mask[None, :],
            other=0.0,
        ).to(tl.float32)
        if tap < WIDTH - 1:
            before = (source < 0) & use_initial
            at = (seq * dim + d[None, :]) * (WIDTH - 1) + (source + WIDTH - 1)[:, None]
            x += tl.load(initial_ptr + at, mask=before[:, None] & d_mask[None, :], other=0.0).to(
                tl.float32
            )
        acc += x * w[None, :]
    tl.store(
        out_ptr + (start + t)[:, None] * dim + d[None, :],
        _activate(acc, SILU),
        mask=(t < length)[:, None] & d_mask[None, :],
    )


@triton.jit
def conv_update_kernel(
    x_ptr, state_ptr, w_ptr, bias_ptr, slot_ptr, out_ptr, dim,
    WIDTH: tl.constexpr, HAS_BIAS: tl.constexpr, SILU: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One token: column by column the state moves up and is used."""
    batch = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < dim
    slot = tl.load(slot_ptr + batch).to(tl.int64)
    state = state_ptr + (slot * dim + d) * (WIDTH - 1)
    x = tl.load(x_ptr + batch * dim + d, mask=mask, other=0.0)
    acc = x.to(tl.float32) * tl.load(w_ptr + d * WIDTH + WIDTH - 1, mask=mask, other=0.0)
    for tap in tl.static_range(WIDTH - 1):
        old = tl.load(state + tap, mask=mask, other=0.0)
        acc += old.to(tl.float32) * tl.load(w_ptr + d * WIDTH + tap, mask=mask, other=0.0)
        if tap > 0:
            tl.store(state + tap - 1, old, mask=mask)
    tl.store(state + WIDTH - 2, x, mask=mask)
    if HAS_BIAS:
        acc += tl.load(bias_ptr + d, mask=mask, other=0.0)
    tl.store(out_ptr + batch * dim + d, _activate(acc, SILU), mask=mask)


def conv(x, w, bias, before, silu):
    """X (tokens, dim) after `before` (dim, width - 1), in float64."""
    width = w.shape[1]
    padded = np.concatenate([before.T, x]).astype(np.float64)
    out = sum(padded[tap : tap + len(x)] * w[:, tap].astype(np.float64) for tap in range(width))
    out = out + bias
    return out / (1 + np.exp(-out)) if silu else out


@pytest.mark.parametrize(
    "dtype, width, silu", [("fp32", 4, True), ("bf16", 3, False), ("fp16", 2, True)]
)
def test_packed(device, dtype, width, silu):
    """Each packed sequence is convolved with its own initial state."""
    lengths, dim = ([37, 1, 0, 70, 2], 50) if not device.on_gpu else ([370, 1, 0, 1700, 2], 300)
    cu = np.cumsum([0, *lengths]).astype(np.int32)
    x, w = random((cu[-1], dim), dtype, 1), random((dim, width), dtype, 2)
    bias, initial = random(dim, "fp32", 3), random((len(lengths), dim, width - 1), dtype, 4)
    has = np.array([1, 0, 1, 1, 1], np.int8)
    out = device.output(x.shape, dtype)
    grid = (len(lengths), triton.cdiv(max(lengths), 32), triton.cdiv(dim, 32))
    packed_conv_kernel[grid](
        *map(device.to, (x, w, bias, initial, has, cu)), out.array, dim, dim,
        WIDTH=width, HAS_BIAS=True, SILU=silu, BLOCK_T=32, BLOCK_D=32,
    )  # fmt: skip
    result = out.numpy().astype(np.float64)
    for i in range(len(lengths)):
        rows = slice(cu[i], cu[i + 1])
        expected = conv(x[rows], w, bias, initial[i] * has[i].astype(initial.dtype), silu)
        np.testing.assert_allclose(result[rows], expected, atol=ALLOWED[dtype], rtol=ALLOWED[dtype])


@pytest.mark.parametrize("width, biased", [(4, True), (2, False)])
def test_update(device, width, biased):
    """One token is convolved with its slot's state, which moves on."""
    batch, dim, slots = 3, 77, 8
    slot = np.array([5, 0, 3], np.int32)
    x, w, bias = (
        random((batch, dim), "fp32", 5),
        random((dim, width), "fp32", 6),
        random(dim, "fp32", 7),
    )
    state = random((slots, dim, width - 1), "fp32", 8)
    d_state, out = device.to(state.copy()), device.output((batch, dim), "fp32")
    conv_update_kernel[(batch, triton.cdiv(dim, 64))](
        device.to(x), d_state, device.to(w), device.to(bias) if biased else None,
        device.to(slot), out.array, dim, WIDTH=width, HAS_BIAS=biased, SILU=False, BLOCK_D=64,
    )  # fmt: skip
    window = np.concatenate([state[slot], x[:, :, None]], axis=2)
    expected = (window.astype(np.float64) * w).sum(axis=2) + (bias if biased else 0)
    np.testing.assert_allclose(out.numpy(), expected, atol=1e-5, rtol=1e-5)
    moved = state.copy()
    moved[slot] = window[:, :, 1:]
    np.testing.assert_array_equal(device.numpy(d_state), moved)
