"""Steps of optimisers over flat and listed parameters: AdamW, Lion, 8-bit Adam, clipping, averages.

Parameters may be halves with fp32 moments and stochastic rounding; a list of tensors is processed by
addresses. fp32 results within 1e-6 of float64 relative to the step; halves are exact roundings.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit(do_not_specialize=["lr", "step"])
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, decay, step, scale_ptr, n,
    MASTER: tl.constexpr, master_ptr, BLOCK: tl.constexpr,
):  # fmt: skip
    """With `MASTER` an fp32 copy holds the truth and `p` its rounding; `scale` divides gradients."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(g_ptr + at, mask=inside, other=0.0).to(tl.float32)
    if scale_ptr is not None:
        g = g / tl.load(scale_ptr)
    p = tl.load((master_ptr if MASTER else p_ptr) + at, mask=inside, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + at, mask=inside, other=0.0)
    v = tl.load(v_ptr + at, mask=inside, other=0.0)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    t = step.to(tl.float32)
    correction1 = 1.0 - tl.exp2(t * tl.log2(beta1))
    correction2 = 1.0 - tl.exp2(t * tl.log2(beta2))
    update = (m / correction1) / (tl.sqrt_rn(v / correction2) + eps)
    p = p * (1.0 - lr * decay) - lr * update
    tl.store(m_ptr + at, m, mask=inside)
    tl.store(v_ptr + at, v, mask=inside)
    tl.store(p_ptr + at, p.to(p_ptr.dtype.element_ty), mask=inside)
    if MASTER:
        tl.store(master_ptr + at, p, mask=inside)


@triton.jit
def lion_kernel(p_ptr, g_ptr, m_ptr, lr, beta1, beta2, decay, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p, g = tl.load(p_ptr + at, mask=inside), tl.load(g_ptr + at, mask=inside)
    m = tl.load(m_ptr + at, mask=inside)
    p = p * (1 - lr * decay)
    mixed = beta1 * m + (1 - beta1) * g
    sign = tl.where(mixed > 0, 1.0, tl.where(mixed < 0, -1.0, 0.0))
    tl.store(p_ptr + at, p - lr * sign, mask=inside)
    tl.store(m_ptr + at, beta2 * m + (1 - beta2) * g, mask=inside)


@triton.jit
def stochastic_kernel(p_ptr, g_ptr, lr, seed, n, BLOCK: tl.constexpr):
    """bf16 parameters: the low 16 bits of the sum decide, with random bits, which way to round."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    p -= lr * tl.load(g_ptr + at, mask=at < n, other=0.0)
    noise = tl.randint(seed, at).to(tl.uint32, bitcast=True) & 0xFFFF
    bits = p.to(tl.uint32, bitcast=True) + noise
    rounded = (bits >> 16).to(tl.uint16).to(tl.bfloat16, bitcast=True)
    tl.store(p_ptr + at, rounded, mask=at < n)


@triton.jit
def momentum8_kernel(p_ptr, g_ptr, code_ptr, scale_ptr, lr, beta, n, BLOCK: tl.constexpr):
    """Momentum kept in int8 with one scale a block."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    code = tl.load(code_ptr + at, mask=inside, other=0)
    m = code.to(tl.float32) * tl.load(scale_ptr + pid)
    m = beta * m + tl.load(g_ptr + at, mask=inside, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(m)), 1e-12) / 127.0
    q = tl.div_rn(m, scale)
    q = tl.where(q >= 0, tl.floor(q + 0.5), tl.ceil(q - 0.5))
    tl.store(code_ptr + at, q.to(tl.int8), mask=inside)
    tl.store(scale_ptr + pid, scale)
    p = tl.load(p_ptr + at, mask=inside)
    tl.store(p_ptr + at, p - lr * m, mask=inside)


@triton.jit
def square_sum_kernel(addresses_ptr, sizes_ptr, total_ptr, BLOCK: tl.constexpr):
    """Axis 0 walks the list of tensors, axis 1 strides over each."""
    which = tl.program_id(0)
    x_ptr = tl.load(addresses_ptr + which).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes_ptr + which)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(tl.program_id(1) * BLOCK, n, tl.num_programs(1) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        acc += x * x
    tl.atomic_add(total_ptr, tl.sum(acc))


@triton.jit
def clip_kernel(addresses_ptr, sizes_ptr, total_ptr, largest, BLOCK: tl.constexpr):
    which = tl.program_id(0)
    x_ptr = tl.load(addresses_ptr + which).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes_ptr + which)
    factor = tl.minimum(largest / (tl.sqrt(tl.load(total_ptr)) + 1e-6), 1.0)
    for start in range(tl.program_id(1) * BLOCK, n, tl.num_programs(1) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        tl.store(x_ptr + at, x * factor, mask=at < n)


def adamw(p, g, m, v, lr, beta1, beta2, eps, decay, step):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    update = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + eps)
    return p * (1 - lr * decay) - lr * update, m, v


@pytest.mark.parametrize("dtype, master", [("fp32", False), ("bf16", True), ("fp16", True)])
def test_adamw(device, dtype, master):
    """A step of AdamW is that of float64, with and without a copy of the parameters in fp32."""
    n = 1000
    settings = (1e-2, 0.9, 0.95, 1e-8, 0.1)
    p = random(n, dtype, 1)
    whole = p.astype(np.float32)
    d_p, d_whole = device.to(p.copy()), device.to(whole.copy())
    d_m, d_v = device.to(np.zeros(n, np.float32)), device.to(np.zeros(n, np.float32))
    scale = device.to(np.array([8.0], np.float32)) if master else None
    state = (whole.astype(np.float64), np.zeros(n), np.zeros(n))
    for step in range(1, 4):
        g = random(n, dtype, 1 + step)
        adamw_kernel[(triton.cdiv(n, 256),)](
            d_p, device.to(g), d_m, d_v, *settings, step, scale, n, MASTER=master,
            master_ptr=d_whole if master else None, BLOCK=256,
        )  # fmt: skip
        wide = g.astype(np.float64) / (8 if master else 1)
        state = adamw(state[0], wide, state[1], state[2], *settings, step)
    result = device.numpy(d_whole if master else d_p)
    np.testing.assert_allclose(result, state[0], rtol=1e-6, atol=3e-6)
    np.testing.assert_allclose(device.numpy(d_m), state[1], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(device.numpy(d_v), state[2], rtol=1e-5, atol=1e-7)
    if master:
        np.testing.assert_array_equal(
            device.numpy(d_p).astype(np.float32), result.astype(p.dtype).astype(np.float32)
        )


def test_lion(device):
    """A step of Lion is that of float64, with zero gradients too."""
    n = 777
    p, g, m = (random(n, "fp32", seed) for seed in (5, 6, 7))
    g[::50] = m[::50] = 0
    d_p, d_m = device.to(p.copy()), device.to(m.copy())
    lion_kernel[(triton.cdiv(n, 256),)](d_p, device.to(g), d_m, 1e-2, 0.9, 0.99, 0.1, n, BLOCK=256)
    wide_g, wide_m = g.astype(np.float64), m.astype(np.float64)
    expected = p * (1 - 1e-3) - 1e-2 * np.sign(0.9 * wide_m + 0.1 * wide_g)
    np.testing.assert_allclose(device.numpy(d_p), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        device.numpy(d_m), 0.99 * wide_m + 0.01 * wide_g, rtol=1e-5, atol=1e-7
    )


def test_stochastic_rounding(device):
    """Each result is one of the two neighbours, and their mean is right."""
    n = 50_000
    p, g = np.full(n, 1.0, ml_dtypes.bfloat16), np.full(n, 1.0, np.float32)
    there = device.to(p)
    stochastic_kernel[(triton.cdiv(n, 1024),)](
        there, device.to(g), -(2.0**-7) * 0.3, 99, n, BLOCK=1024
    )
    up = device.numpy(there).astype(np.float64) - 1
    assert set(np.unique(up)) == {0.0, 2.0**-7}
    share = (up > 0).mean()
    assert abs(share - 0.3) <= 5 * np.sqrt(0.3 * 0.7 / n)


def test_eight_bit_momentum(device):
    n, block, lr, beta = 1000, 128, 0.1, 0.5
    p, blocks = random(n, "fp32", 8), triton.cdiv(1000, 128)
    d_p, codes = device.to(p.copy()), device.to(np.zeros(n, np.int8))
    scales = device.to(np.zeros(blocks, np.float32))
    exact, m = p.astype(np.float64), np.zeros(n)
    for step in range(3):
        g = random(n, "fp32", 9 + step)
        momentum8_kernel[(blocks,)](d_p, device.to(g), codes, scales, lr, beta, n, BLOCK=block)
        m = beta * m + g
        exact -= lr * m
        top = np.abs(np.pad(m, (0, -n % block))).reshape(-1, block).max(1)
        whole = device.numpy(scales).repeat(block)[:n]
        np.testing.assert_allclose(device.numpy(scales), top / 127, rtol=1e-5)
        stored = device.numpy(codes).astype(np.float64) * whole
        assert (np.abs(stored - m) <= whole * 0.501).all()
        m = stored
    np.testing.assert_allclose(device.numpy(d_p), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("largest", [1.0, 1e4])
def test_clip_by_norm(device, largest):
    sizes = [1, 500, 2049, 64]
    grads = [random(size, "fp32", 20 + i) for i, size in enumerate(sizes)]
    there = [device.to(g.copy()) for g in grads]
    address = lambda x: x.data_ptr() if device.on_gpu else x.ctypes.data
    d_addresses = device.to(np.array([address(x) for x in there], np.int64))
    d_sizes, total = device.to(np.array(sizes, np.int64)), device.to(np.zeros(1, np.float32))
    square_sum_kernel[(len(sizes), 3)](d_addresses, d_sizes, total, BLOCK=256)
    clip_kernel[(len(sizes), 3)](d_addresses, d_sizes, total, largest, BLOCK=256)
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in grads))
    np.testing.assert_allclose(device.numpy(total)[0], norm**2, rtol=1e-5)
    factor = min(largest / (norm + 1e-6), 1.0)
    for result, g in zip(there, grads, strict=True):
        np.testing.assert_allclose(device.numpy(result), g * factor, rtol=1e-5)
