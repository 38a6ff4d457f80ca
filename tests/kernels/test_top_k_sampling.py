"""What tokens are drawn from: the k largest logits, and those that top-p and min-p leave.

Top-k merges blocks of pairs, value and index packed into one integer that sorts as the float does,
or takes the largest out k times; top-p finds its threshold by halving, without a sort. Indices and
kept tokens exactly (inputs have no equal logits); probabilities within 2e-5.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def order_of(x):
    """The bits of a float32 as an unsigned integer with the order of the floats."""
    bits = x.to(tl.uint32, bitcast=True)
    flip = tl.where(bits >> 31 != 0, 0xFFFFFFFF, 0x80000000).to(tl.uint32)
    return bits ^ flip


@triton.jit
def float_of(key):
    flip = tl.where(key >> 31 != 0, 0x80000000, 0xFFFFFFFF).to(tl.uint32)
    return (key ^ flip).to(tl.float32, bitcast=True)


@triton.jit
def top_k_kernel(
    logits_ptr, values_ptr, index_ptr, vocabulary, stride,
    K: tl.constexpr, K_PAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Blocks are merged into the K_PAD best pairs so far; equal values go to the smaller index."""
    row = tl.program_id(0)
    best = tl.zeros([K_PAD], tl.uint64)
    for start in range(0, vocabulary, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * stride + at, mask=at < vocabulary, other=-float("inf"))
        pair = order_of(x.to(tl.float32)).to(tl.uint64) << 32 | (0x7FFFFFFF - at).to(tl.uint64)
        pair = tl.where(at < vocabulary, pair, 0)
        best = tl.topk(tl.reshape(tl.join(best, tl.topk(pair, K_PAD)), [2 * K_PAD]), K_PAD)
    k = tl.arange(0, K_PAD)
    index = 0x7FFFFFFF - (best & 0xFFFFFFFF).to(tl.uint32)
    tl.store(values_ptr + row * K + k, float_of((best >> 32).to(tl.uint32)), mask=k < K)
    tl.store(index_ptr + row * K + k, index.to(tl.int32), mask=k < K)


@triton.jit
def rounds_of_argmax_kernel(
    logits_ptr, index_ptr, weight_ptr, count, K: tl.constexpr, BLOCK: tl.constexpr
):
    """K rounds that each take the largest out; weights are the softmax over the chosen."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * count + at, mask=at < count, other=-float("inf"))
    first = tl.max(x, axis=0)
    total = 0.0
    for k in tl.static_range(K):
        value, index = tl.max(x, axis=0, return_indices=True)
        weight = tl.exp(value - first)
        total += weight
        tl.store(index_ptr + row * K + k, index)
        tl.store(weight_ptr + row * K + k, weight)
        x = tl.where(at == index, -float("inf"), x)
    tl.debug_barrier()
    for k in range(K):
        tl.store(weight_ptr + row * K + k, tl.load(weight_ptr + row * K + k) / total)


@triton.jit
def nucleus_kernel(
    logits_ptr, out_ptr, top_p_ptr, min_p_ptr, temperature_ptr, count, BLOCK: tl.constexpr
):
    """Probabilities of what top-p and min-p leave; the threshold is found by halving."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < count
    x = tl.load(logits_ptr + row * count + at, mask=mask, other=-float("inf")).to(tl.float32)
    p = tl.softmax(x / tl.load(temperature_ptr + row))
    top_p = tl.load(top_p_ptr + row)
    largest = tl.max(p, axis=0)
    low = 0.0
    high = largest
    step = 0
    while step < 40 and low < high:
        middle = (low + high) * 0.5
        if tl.sum(tl.where(p > middle, p, 0.0), axis=0) >= top_p:
            low = middle
        else:
            high = middle
        step += 1
    kept = (p > low) & (p >= tl.load(min_p_ptr + row) * largest)
    p = tl.where(kept, p, 0.0)
    tl.store(out_ptr + row * count + at, p / tl.sum(p, axis=0), mask=mask)


def distinct(shape, seed, dtype=np.float32):
    """Logits of both signs of which no two in a row are equal."""
    rows, count = shape
    generator = np.random.default_rng(seed)
    order = np.stack([generator.permutation(count) for _ in range(rows)])
    return ((order - count // 2) * 0.0625).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("count, k, block", [(1000, 20, 256), (77, 7, 64), (513, 64, 128)])
def test_top_k(device, dtype, count, k, block):
    rows = 5
    x = distinct((rows, count), count, dtype)
    values, index = device.output((rows, k), "fp32"), device.output((rows, k), "i32")
    top_k_kernel[(rows,)](
        device.to(x), values.array, index.array, count, count,
        K=k, K_PAD=triton.next_power_of_2(k), BLOCK=block,
    )  # fmt: skip
    expected = np.argsort(-x.astype(np.float64), axis=1)[:, :k]
    np.testing.assert_array_equal(index.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, axis=1))


@pytest.mark.parametrize("count, k", [(60, 4), (256, 8)])
def test_rounds_of_argmax(device, count, k):
    x = distinct((9, count), 3) / 8
    index, weight = device.output((9, k), "i32"), device.output((9, k), "fp32")
    rounds_of_argmax_kernel[(9,)](
        device.to(x), index.array, weight.array, count,
        K=k, BLOCK=triton.next_power_of_2(count), num_warps=1,
    )  # fmt: skip
    expected = np.argsort(-x, axis=1)[:, :k]
    np.testing.assert_array_equal(index.numpy(), expected)
    e = np.exp(np.take_along_axis(x, expected, axis=1).astype(np.float64))
    np.testing.assert_allclose(weight.numpy(), e / e.sum(axis=1, keepdims=True), rtol=2e-5)


def test_nucleus(device):
    """What top-p and min-p leave is renormalised, and the rest is zero."""
    rows, count = 6, 300
    x = random((rows, count), "fp32", 4) * 2
    top_p = np.array([0.9, 0.5, 0.05, 0.99, 0.7, 0.8], np.float32)
    min_p = np.array([0.0, 0.02, 0.0, 0.1, 0.0, 0.3], np.float32)
    temperature = np.array([1.0, 0.7, 1.3, 2.0, 0.5, 1.0], np.float32)
    out = device.output(x.shape, "fp32")
    nucleus_kernel[(rows,)](
        device.to(x), out.array, *map(device.to, (top_p, min_p, temperature)), count, BLOCK=512
    )
    p = np.exp(x.astype(np.float64) / temperature[:, None])
    p /= p.sum(axis=1, keepdims=True)
    order = np.argsort(-p, axis=1)
    ranked = np.take_along_axis(p, order, axis=1)
    kept = np.zeros(p.shape, bool)
    np.put_along_axis(kept, order, ranked.cumsum(axis=1) - ranked < top_p[:, None], axis=1)
    kept &= p >= min_p[:, None] * p.max(axis=1, keepdims=True)
    expected = np.where(kept, p, 0)
    result = out.numpy()
    np.testing.assert_array_equal(result != 0, kept)
    np.testing.assert_allclose(result, expected / expected.sum(axis=1, keepdims=True), rtol=2e-5)
