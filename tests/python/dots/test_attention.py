"""Attention in one kernel: two chained dots with an online softmax between them."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    scale,
    length,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Queries BLOCK_M at a time against keys BLOCK_N at a time; the grid's second axis is the batch."""
    base = tl.program_id(1) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns, features = tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    q_offsets = base + rows[:, None] * HEAD + features[None, :]
    q = tl.load(q_ptr + q_offsets, mask=rows[:, None] < length, other=0.0)
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    stop = min((tl.program_id(0) + 1) * BLOCK_M, length) if CAUSAL else length
    for start in range(0, stop, BLOCK_N):
        keys = start + columns
        inside = keys < length
        k = tl.load(
            k_ptr + base + keys[None, :] * HEAD + features[:, None], mask=inside[None, :], other=0.0
        )
        scores = tl.dot(q, k) * scale
        visible = inside[None, :]
        if CAUSAL:
            visible = visible & (rows[:, None] >= keys[None, :])
        scores = tl.where(visible, scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2((scores - new_best[:, None]) * 1.4426950408889634)
        decay = tl.exp2((best - new_best) * 1.4426950408889634)
        total = total * decay + tl.sum(p, 1)
        v = tl.load(
            v_ptr + base + keys[:, None] * HEAD + features[None, :], mask=inside[:, None], other=0.0
        )
        acc = tl.dot(p.to(v.dtype), v, acc * decay[:, None])
        best = new_best
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + q_offsets, out, mask=rows[:, None] < length)


def attention(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return p / p.sum(axis=2, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "length, head, blocks", [(128, 64, (64, 32)), (100, 32, (32, 32)), (200, 64, (64, 64))]
)
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_types_widths_and_masks(device, dtype, length, head, blocks, causal):
    """Attention agrees with float64 for every type, width and mask."""
    q, k, v = (random((2, length, head), dtype, seed) for seed in range(3))
    out = device.output(q.shape, "fp32")
    grid = (triton.cdiv(length, blocks[0]), 2)
    arrays = [device.to(x) for x in (q, k, v)]
    attention_kernel[grid](*arrays, out.array, head**-0.5, length, head, *blocks, causal)
    tolerance = 2e-3 if dtype == "fp16" else 2e-2
    np.testing.assert_allclose(
        out.numpy(), attention(q, k, v, causal), atol=tolerance, rtol=tolerance
    )


@triton.jit
def whole_blocks_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    scale,
    length,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """The same where tiles divide the length: no load has a mask, so threads may copy by vectors."""
    base = tl.program_id(1) * length * HEAD
    first = tl.program_id(0) * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    columns, features = tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + features[None, :])
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, first + BLOCK_M if CAUSAL else length, BLOCK_N):
        keys = start + columns
        k = tl.load(k_ptr + base + keys[None, :] * HEAD + features[:, None])
        scores = tl.dot(q, k) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp2((scores - new_best[:, None]) * 1.4426950408889634)
        decay = tl.exp2((best - new_best) * 1.4426950408889634)
        total = total * decay + tl.sum(p, 1)
        v = tl.load(v_ptr + base + keys[:, None] * HEAD + features[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * decay[:, None])
        best = new_best
    out = acc / total[:, None]
    tl.store(out_ptr + base + rows[:, None] * HEAD + features[None, :], out)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "blocks, stages, warps",
    [((64, 64), 2, 4), ((64, 64), 3, 4), ((128, 64), 3, 8), ((64, 32), 4, 4), ((128, 64), 3, 4)],
)
def test_whole_tiles_without_masks(device, blocks, stages, warps, causal):
    """Waits deferred by one iteration, with circular buffers of every depth."""
    q, k, v = (random((1, 512, 64), "fp16", seed) for seed in range(3))
    out = device.output(q.shape, "fp32")
    arrays = [device.to(x) for x in (q, k, v)]
    whole_blocks_kernel[(512 // blocks[0], 1)](
        *arrays, out.array, 64**-0.5, 512, 64, *blocks, causal, num_stages=stages, num_warps=warps
    )
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, causal), atol=2e-3, rtol=2e-3)
