"""Writing a paged cache and reading it back in fp8: slots, scales for each head, gathered pages.

Keys are turned by rotary embeddings and normalised on their way in, values go in as they are; both
are quantised with a scale of token and head, packed into one record. Reading gathers slots and
multiplies the scales back in. Bit for bit where the arithmetic is exact, else within the rounding
of fp8 (2^-4) of a record's scale.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def copy_to_slots_kernel(
    key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_ptr, key_stride, value_stride,
    HEADS: tl.constexpr, DIM: tl.constexpr, PAGE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Tokens into pages (pages, PAGE, HEADS, DIM); tokens with a negative slot are padding."""
    token, tile = tl.program_id(0), tl.program_id(1)
    slot = tl.load(slot_ptr + token).to(tl.int64)
    if slot < 0:
        return
    page, within = slot // PAGE, slot % PAGE
    e = tile * TILE + tl.arange(0, TILE)
    mask = e < HEADS * DIM
    k = tl.load(key_ptr + token * key_stride + e, mask=mask)
    v = tl.load(value_ptr + token * value_stride + e, mask=mask)
    at = (page * PAGE + within) * HEADS * DIM + e
    tl.store(key_cache_ptr + at, k.to(key_cache_ptr.dtype.element_ty), mask=mask)
    tl.store(value_cache_ptr + at, v.to(value_cache_ptr.dtype.element_ty), mask=mask)


@triton.jit
def norm_rope_quantize_kernel(
    x_ptr, weight_ptr, cos_ptr, sin_ptr, pos_ptr, slot_ptr, cache_ptr, scale_ptr, eps,
    HEADS: tl.constexpr, DIM: tl.constexpr, FP8_MAX: tl.constexpr, TURN: tl.constexpr,
):  # fmt: skip
    token, head = tl.program_id(0), tl.program_id(1)
    half: tl.constexpr = DIM // 2
    d = tl.arange(0, half)
    base = x_ptr + (token * HEADS + head) * DIM
    a, b = tl.load(base + d).to(tl.float32), tl.load(base + half + d).to(tl.float32)
    if TURN:
        rstd = tl.rsqrt((tl.sum(a * a) + tl.sum(b * b)) / DIM + eps)
        a = a * rstd * tl.load(weight_ptr + d)
        b = b * rstd * tl.load(weight_ptr + half + d)
        position = tl.load(pos_ptr + token)
        cos, sin = tl.load(cos_ptr + position * half + d), tl.load(sin_ptr + position * half + d)
        a, b = a * cos - b * sin, b * cos + a * sin
    largest = tl.maximum(tl.max(tl.abs(a)), tl.max(tl.abs(b)))
    scale = tl.maximum(largest, 1e-10) / FP8_MAX
    slot = tl.load(slot_ptr + token).to(tl.int64)
    tl.store(scale_ptr + slot * HEADS + head, scale)
    out = cache_ptr + (slot * HEADS + head) * DIM
    tl.store(out + d, tl.clamp(a / scale, -FP8_MAX, FP8_MAX).to(cache_ptr.dtype.element_ty))
    tl.store(out + half + d, tl.clamp(b / scale, -FP8_MAX, FP8_MAX).to(cache_ptr.dtype.element_ty))


@triton.jit
def gather_dequantize_kernel(
    cache_ptr, scale_ptr, slots_ptr, out_ptr, count,
    HEADS: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = tl.program_id(1)
    d = tl.arange(0, DIM)
    slot = tl.load(slots_ptr + i, mask=i < count, other=0).to(tl.int64)
    mask = (i < count)[:, None]
    x = tl.load(cache_ptr + (slot[:, None] * HEADS + head) * DIM + d[None, :], mask=mask, other=0.0)
    scale = tl.load(scale_ptr + slot * HEADS + head, mask=i < count, other=0.0)
    y = x.to(tl.float32) * scale[:, None]
    tl.store(out_ptr + (i[:, None] * HEADS + head) * DIM + d[None, :], y, mask=mask)


@pytest.mark.parametrize("source, stored", [("fp16", "fp16"), ("bf16", "fp32"), ("fp32", "bf16")])
def test_copy_to_slots(device, source, stored):
    tokens, heads, dim, page, pages = 37, 3, 40, 16, 6
    k, v = random((tokens, heads, dim), source, 1), random((tokens, 2, heads, dim), source, 2)
    slots = np.random.default_rng(3).permutation(pages * page)[:tokens].astype(np.int64)
    slots[::7] = -1
    d_v = device.to(v)[:, 1]
    k_cache, v_cache = (device.output((pages, page, heads, dim), stored) for _ in range(2))
    copy_to_slots_kernel[(tokens, triton.cdiv(heads * dim, 64))](
        device.to(k), d_v, k_cache.array, v_cache.array, device.to(slots), heads * dim,
        2 * heads * dim, HEADS=heads, DIM=dim, PAGE=page, TILE=64,
    )  # fmt: skip
    used = slots[slots >= 0]
    for result, x in ((k_cache.numpy(), k), (v_cache.numpy(), v[:, 1])):
        rows = result.reshape(pages * page, heads, dim).astype(np.float64)
        expected = x[slots >= 0].astype(np.float32).astype(result.dtype).astype(np.float64)
        np.testing.assert_array_equal(rows[used], expected)
        assert np.isnan(np.delete(rows, used, axis=0)).all()


@pytest.mark.parametrize("fp8, largest", [("fp8e4nv", 448.0), ("fp8e5", 57344.0)])
@pytest.mark.parametrize("turn", [False, True])
def test_quantized_round_trip(device, fp8, largest, turn):
    tokens, heads, dim, slots_there = 29, 3, 64, 50
    x, weight = random((tokens, heads, dim), "bf16", 4), random(dim, "fp32", 5)
    positions = random(tokens, "i32", 6, low=0, high=100)
    angle = np.arange(100)[:, None] * 10000.0 ** (-np.arange(dim // 2) * 2 / dim)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    slots = np.random.default_rng(7).permutation(slots_there)[:tokens].astype(np.int32)
    zeros = np.zeros((slots_there, heads, dim), np.float32)
    kind = ml_dtypes.float8_e4m3fn if fp8 == "fp8e4nv" else ml_dtypes.float8_e5m2
    cache, scales = device.to(zeros.astype(kind)), device.to(zeros[..., 0].copy())
    d_slots = device.to(slots)
    norm_rope_quantize_kernel[(tokens, heads)](
        *map(device.to, (x, weight, cos, sin, positions)), d_slots, cache, scales, 1e-6,
        HEADS=heads, DIM=dim, FP8_MAX=largest, TURN=turn, num_warps=1,
    )  # fmt: skip
    out = device.output(x.shape, "fp32")
    gather_dequantize_kernel[(triton.cdiv(tokens, 8), heads)](
        cache, scales, d_slots, out.array, tokens, HEADS=heads, DIM=dim, BLOCK=8
    )
    wide = x.astype(np.float64)
    if turn:
        wide = wide / np.sqrt((wide**2).mean(axis=2, keepdims=True) + 1e-6) * weight
        a, b = np.split(wide, 2, axis=2)
        c, s = np.cos(angle)[positions][:, None], np.sin(angle)[positions][:, None]
        wide = np.concatenate([a * c - b * s, b * c + a * s], axis=2)
    best = np.abs(wide).max(axis=2)
    np.testing.assert_allclose(device.numpy(scales)[slots], best / largest, rtol=1e-5)
    step = 2.0**-4 if fp8 == "fp8e4nv" else 2.0**-3
    allowed = step * np.abs(wide) * 1.001 + 2.0**-10 * best[..., None] / largest * 2
    assert (np.abs(out.numpy() - wide) <= allowed).all()
