"""Choosing experts: softmax over all, the K best one after the other, their weights renormalised.

The weights go out in two rounds, so that a row's sum is known in the second: each program reads
back what it wrote.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def gating_kernel(
    logits_ptr, weights_ptr, experts_ptr, rows, E: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    expert = tl.arange(0, BLOCK_E)
    inside = row < rows
    mask = inside[:, None] & (expert[None, :] < E)
    x = tl.load(logits_ptr + row[:, None] * E + expert[None, :], mask=mask, other=-float("inf"))
    x = x.to(tl.float32)
    top = tl.max(x, axis=1)
    x = tl.exp(x - tl.where(inside, top, 0.0)[:, None])
    total = tl.zeros([BLOCK_M], tl.float32)
    left = x
    for j in tl.static_range(K):
        best, at = tl.max(left, axis=1, return_indices=True)
        total += best
        left = tl.where(expert[None, :] == at[:, None], -1.0, left)
        tl.store(experts_ptr + row * K + j, at, mask=inside)
        tl.store(weights_ptr + row * K + j, best, mask=inside)
    for j in tl.static_range(K):
        weight = tl.load(weights_ptr + row * K + j, mask=inside, other=0.0)
        tl.store(weights_ptr + row * K + j, weight / total, mask=inside)


@pytest.mark.parametrize(
    "rows, experts, chosen, block, warps",
    [(37, 64, 4, 8, 4), (16, 60, 6, 4, 1), (5, 256, 8, 2, 8), (9, 8, 2, 16, 2)],
)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_experts(device, rows, experts, chosen, block, warps, dtype):
    """The K likeliest experts and their renormalised weights are those of float64."""
    logits = random((rows, experts), dtype)
    weights = device.output((rows, chosen), "fp32")
    ids = device.output((rows, chosen), "i32")
    width = 1 << (experts - 1).bit_length()
    gating_kernel[(-(-rows // block),)](
        device.to(logits), weights.array, ids.array, rows, experts, chosen, block, width,
        num_warps=warps,
    )  # fmt: skip
    wide = logits.astype(np.float64)
    order = np.argsort(-wide, axis=1, kind="stable")[:, :chosen]
    np.testing.assert_array_equal(ids.numpy(), order)
    best = np.exp(np.take_along_axis(wide, order, 1) - wide.max(1, keepdims=True))
    expected = best / best.sum(1, keepdims=True)
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-5, atol=1e-6)
