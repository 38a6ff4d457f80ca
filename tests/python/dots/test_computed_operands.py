"""Operands that a loop computes from packed tiles: any axis of packing, order of nibbles, contiguous
dimension, side of the dot, scales and shape of tiles; every element against NumPy in float64."""

import itertools

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def packed_kernel(
    x_ptr, w_ptr, scales_ptr, out_ptr, R, C, K, stride_r, stride_k,
    PER: tl.constexpr, HIGH_FIRST: tl.constexpr, SWAPPED: tl.constexpr, SCALED: tl.constexpr,
    MASKED: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """x (R, K) by w (K, C) of bytes that have PER signed numbers along K; C rows where SWAPPED."""
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros((BLOCK_C, BLOCK_R) if SWAPPED else (BLOCK_R, BLOCK_C), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        pair = start // PER + tl.arange(0, BLOCK_K // PER)
        x = tl.load(x_ptr + r[:, None] * K + k[None, :], mask=(r < R)[:, None], other=0.0)
        w_ptrs = w_ptr + pair[:, None] * stride_k + c[None, :] * stride_r
        if MASKED:
            w = tl.load(w_ptrs, mask=(c < C)[None, :], other=0)
        else:
            w = tl.load(w_ptrs)
        if PER == 2:
            low, high = (w << 4) >> 4, w >> 4
            if HIGH_FIRST:
                low, high = high, low
            both = tl.join(low.to(x.dtype), high.to(x.dtype))
            wide = both.permute(0, 2, 1).reshape(BLOCK_K, BLOCK_C)
        else:
            wide = w.to(x.dtype)
        if SCALED:
            s = tl.load(scales_ptr + start // BLOCK_K * C + c, mask=c < C, other=0.0)
            wide = wide * s[None, :]
        if SWAPPED:
            acc = tl.dot(wide.trans(), x.trans(), acc)
        else:
            acc = tl.dot(x, wide, acc)
    if SWAPPED:
        acc = acc.trans()
    tl.store(out_ptr + r[:, None] * C + c[None, :], acc, mask=(r < R)[:, None] & (c < C)[None, :])


def nibbles(w, high_first):
    low, high = (w << 4).astype(np.int8) >> 4, w >> 4
    return np.stack([high, low] if high_first else [low, high], 1).reshape(-1, w.shape[1])


def check(device, dtype, tile, warps, per, along_k, high_first, swapped, scaled, masked, seed=0):
    block_r, block_c, block_k = tile
    R, C, K = block_r + 3, block_c + (7 if masked else block_c), 3 * block_k
    x = random((R, K), dtype, seed + 1)
    w = random((K // per, C), "i8", seed + 2, low=-128, high=128)
    scales = random((3, C), dtype, seed + 3)
    out = device.output((R, C), "fp32")
    stored = np.ascontiguousarray(w.T) if along_k else w
    packed_kernel[(triton.cdiv(R, block_r), triton.cdiv(C, block_c))](
        device.to(x), device.to(stored), device.to(scales), out.array, R, C, K,
        *((K // per, 1) if along_k else (1, C)), PER=per, HIGH_FIRST=high_first, SWAPPED=swapped,
        SCALED=scaled, MASKED=masked, BLOCK_R=block_r, BLOCK_C=block_c, BLOCK_K=block_k,
        num_warps=warps, enabled_passes="computed-operands" if seed % 4 else "",
        disabled_passes="computed-left" if seed % 4 in (1, 2) else "",
    )  # fmt: skip
    weights = (nibbles(w, high_first) if per == 2 else w).astype(np.float64)
    if scaled:
        weights *= scales.astype(np.float64).repeat(block_k, 0)
    ulp = float(ml_dtypes.finfo(x.dtype).eps) if scaled else 0.0
    wide = x.astype(np.float64)
    size = np.abs(wide) @ np.abs(weights)
    assert (np.abs(out.numpy() - wide @ weights) <= (ulp + 2**-18) * size + 1e-5).all()


TILES = [
    ((16, 64, 128), 4),
    ((16, 64, 64), 1),
    ((32, 128, 32), 4),
    ((64, 32, 64), 2),
    ((16, 48, 64), 2),
    ((16, 64, 96), 4),
    ((16, 16, 32), 4),
    ((64, 128, 32), 4),
    ((8, 128, 64), 4),
    ((16, 192, 32), 12),
    ((16, 384, 32), 12),
    ((32, 256, 32), 8),
]


@pytest.mark.parametrize("per, along_k", [(1, False), (1, True), (2, False), (2, True)])
@pytest.mark.parametrize("tile, warps", TILES, ids=lambda v: str(v).replace(" ", ""))
def test_packed_weights(device, tile, warps, per, along_k):
    """With the choice `computed-operands`, and in two of eight cases without it; on Hopper in four also
    transposed, with the weights in registers, where the tile is large enough for wgmma."""
    choices = itertools.product((False, True), repeat=3)
    for i, (swapped, scaled, masked) in enumerate(choices):
        dtype = "bf16" if i % 2 else "fp16"
        check(device, dtype, tile, warps, per, along_k, i % 3 == 0, swapped, scaled, masked, i)
