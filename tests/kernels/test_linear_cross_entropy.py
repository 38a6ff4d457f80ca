"""Cross entropy of a linear layer whose logits are never stored: a dot inside of a running log-sum-exp, split over the vocabulary.

Hidden states (rows, depth) and weights (vocabulary, depth) in bf16; sums of log-sum-exp and the label's logit come from every part
of the vocabulary and are joined by a second kernel. Losses within 1e-2 of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def partial_kernel(
    X, W, Labels, Sums, Picked, rows, vocabulary, part,
    DEPTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BK)
    inside = m < rows
    label = tl.load(Labels + m, mask=inside, other=-1)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    picked = tl.zeros([BM], tl.float32)
    first = tl.program_id(1) * part
    last = tl.minimum(first + part, vocabulary)
    for start in range(first, last, BN):
        n = start + tl.arange(0, BN)
        logits = tl.zeros([BM, BN], tl.float32)
        for at in range(0, DEPTH, BK):
            x = tl.load(X + m[:, None] * DEPTH + (at + k)[None, :], mask=inside[:, None], other=0.0)
            w = tl.load(
                W + n[None, :] * DEPTH + (at + k)[:, None], mask=(n < last)[None, :], other=0.0
            )
            logits = tl.dot(x, w, logits)
        picked += tl.sum(tl.where(n[None, :] == label[:, None], logits, 0.0), 1)
        logits = tl.where((n < last)[None, :], logits, -float("inf"))
        new = tl.maximum(top, tl.max(logits, 1))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(logits - new[:, None]), 1)
        top = new
    to = tl.program_id(1) * rows + m
    tl.store(Sums + to, top + tl.log(total), mask=inside)
    tl.store(Picked + to, tl.where((label >= first) & (label < last), picked, 0.0), mask=inside)


@triton.jit
def join_kernel(Sums, Picked, Labels, Loss, rows, parts, ignored, PARTS: tl.constexpr):
    row = tl.program_id(0)
    p = tl.arange(0, PARTS)
    sums = tl.load(Sums + p * rows + row, mask=p < parts, other=-float("inf"))
    picked = tl.sum(tl.load(Picked + p * rows + row, mask=p < parts, other=0.0), 0)
    top = tl.max(sums, 0)
    loss = top + tl.log(tl.sum(tl.exp(sums - top), 0)) - picked
    tl.store(Loss + row, tl.where(tl.load(Labels + row) == ignored, 0.0, loss))


@pytest.mark.parametrize(
    "rows, vocabulary, depth, parts, block, warps, stages",
    [(50, 300, 96, 3, (32, 64, 32), 4, 3), (70, 500, 64, 1, (64, 128, 64), 4, 2), (17, 130, 160, 2, (16, 32, 32), 2, 3)],
)  # fmt: skip
def test_loss(device, rows, vocabulary, depth, parts, block, warps, stages):
    """Losses from parts of the vocabulary are those of stored logits."""
    if device.on_gpu:
        rows, vocabulary = rows * 4, vocabulary * 10
    x = random((rows, depth), "bf16", 1)
    w = (random((vocabulary, depth), "fp32", 2) * 0.3).astype(x.dtype)
    labels = random(rows, "i32", 3, low=0, high=vocabulary)
    labels[2] = -1
    part = triton.cdiv(triton.cdiv(vocabulary, parts), block[1]) * block[1]
    sums, picked = device.output((parts, rows), "fp32"), device.output((parts, rows), "fp32")
    loss = device.output(rows, "fp32")
    d_labels = device.to(labels)
    partial_kernel[(triton.cdiv(rows, block[0]), parts)](
        device.to(x), device.to(w), d_labels, sums.array, picked.array, rows, vocabulary, part,
        depth, *block, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    join_kernel[(rows,)](
        sums.array, picked.array, d_labels, loss.array, rows, parts, -1, PARTS=4, num_warps=1
    )
    logits = x.astype(np.float64) @ w.astype(np.float64).T
    top = logits.max(1)
    expected = top + np.log(np.exp(logits - top[:, None]).sum(1)) - logits[np.arange(rows), labels]
    expected[2] = 0
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-2, atol=1e-2)
