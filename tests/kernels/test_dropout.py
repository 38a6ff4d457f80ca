"""Dropout whose mask is never stored: backward draws it again from the seed; alone and fused.

The masks are compared bit for bit with Philox-4x32 in NumPy (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3").
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def seeded_dropout_kernel(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def four_at_once_kernel(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    """One Philox counter for four elements that are BLOCK_SIZE apart."""
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    r = tl.rand4x(seed, i)
    base = tl.program_id(0) * 4 * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    for k in tl.static_range(4):
        at = base + k * BLOCK_SIZE
        x = tl.load(x_ptr + at, mask=at < n_elements)
        tl.store(output_ptr + at, tl.where(r[k] > p, x / (1 - p), 0.0), mask=at < n_elements)


@triton.jit
def bias_dropout_add_kernel(
    out_ptr, x_ptr, bias_ptr, residual_ptr, rows, cols, p, seed,
    TRAINING: tl.constexpr, HAS_BIAS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    mask = (r < rows) & (c < cols)
    at = r * cols + c
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    if HAS_BIAS:
        x += tl.load(bias_ptr + c, mask=c < cols, other=0.0).to(tl.float32)
    if TRAINING:
        x = tl.where(tl.rand(seed, at) > p, x / (1.0 - p), 0.0)
    x += tl.load(residual_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def noise_kernel(out_ptr, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.randn(seed, at), mask=at < n)


def philox(seed, counter):
    """Four uint32 arrays for 32-bit counters, ten rounds."""
    c = [counter.astype(np.uint64), *(np.zeros(counter.shape, np.uint64) for _ in range(3))]
    low = np.uint64(0xFFFFFFFF)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low,
            (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low,
        ]  # fmt: skip
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [x.astype(np.uint32) for x in c]


def uniform(bits):
    signed = bits.view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(
        4.6566127342e-10
    )


@pytest.mark.parametrize("seed", [123, 2**31 - 1])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_seeded(device, dtype, seed):
    """What a seed keeps is what Philox says, and it is scaled by 1 / (1 - p)."""
    n, p = (1 << 20, 0.3) if device.on_gpu else (3000, 0.3)
    n += 11
    x, out = random(n, dtype, 1), device.output(n, dtype)
    seeded_dropout_kernel[(triton.cdiv(n, 512),)](
        device.to(x), out.array, n, p, seed, BLOCK_SIZE=512
    )
    keep = uniform(philox(seed, np.arange(n))[0]) > np.float32(p)
    result = out.numpy().astype(np.float64)
    assert (result[~keep] == 0).all()
    np.testing.assert_allclose(
        result,
        np.where(keep, x.astype(np.float64) / (1 - p), 0),
        rtol=1e-6 if dtype == "fp32" else 1e-3,
        atol=0 if dtype == "fp32" else 6e-8,
    )


def test_four_at_once(device):
    n, block, p, seed = 5003, 256, 0.5, 42
    x, out = random(n, "fp32", 2), device.output(n, "fp32")
    four_at_once_kernel[(triton.cdiv(n, 4 * block),)](device.to(x), out.array, n, p, seed, block)
    at = np.arange(n)
    program, lane = at // (4 * block), at % (4 * block)
    bits = np.stack(philox(seed, program * block + lane % block))
    keep = uniform(bits[lane // block, at]) > np.float32(p)
    np.testing.assert_allclose(
        out.numpy(), np.where(keep, x.astype(np.float64) / (1 - p), 0), rtol=1e-6
    )


@pytest.mark.parametrize("training, bias", [(True, True), (True, False), (False, True)])
def test_bias_and_residual(device, training, bias):
    rows, cols, p, seed = 37, 301, 0.2, 977
    x, b, residual = (
        random((rows, cols), "bf16", 3),
        random(cols, "bf16", 4),
        random((rows, cols), "bf16", 5),
    )
    out = device.output((rows, cols), "fp32")
    bias_dropout_add_kernel[(triton.cdiv(rows, 8), triton.cdiv(cols, 64))](
        out.array, device.to(x), device.to(b) if bias else None, device.to(residual), rows, cols,
        p, seed, TRAINING=training, HAS_BIAS=bias, ROWS=8, COLS=64,
    )  # fmt: skip
    wide = x.astype(np.float64) + (b.astype(np.float64) if bias else 0)
    if training:
        keep = uniform(philox(seed, np.arange(rows * cols))[0]).reshape(rows, cols) > np.float32(p)
        wide = np.where(keep, wide / (1 - p), 0)
    np.testing.assert_allclose(
        out.numpy(), wide + residual.astype(np.float64), rtol=1e-5, atol=1e-5
    )


def test_normal_noise(device):
    n, seed = 10007, 5
    out = device.output(n, "fp32")
    noise_kernel[(triton.cdiv(n, 1024),)](out.array, n, seed, BLOCK=1024)
    first, second = (uniform(bits).astype(np.float64) for bits in philox(seed, np.arange(n))[:2])
    expected = np.sqrt(-2 * np.log(np.maximum(first, 1e-7))) * np.cos(2 * np.pi * second)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=5e-4)
