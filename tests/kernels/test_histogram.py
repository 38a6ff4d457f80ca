"""Histograms of integers: private to a program then added by atomics, by one atomic per element, weighted.

A 2-D joint histogram and the equalisation of an image go through the same counts. Counts are exact;
weighted sums within 1e-5 of the sum of magnitudes, since atomics add in any order.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def private_kernel(x_ptr, count_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Programs stride over the blocks and add their counts once."""
    counts = tl.zeros([BINS], tl.int32)
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.int32)
        counts += tl.histogram(x, BINS, mask=at < n)
    bins = tl.arange(0, BINS)
    tl.atomic_add(count_ptr + bins, counts, mask=counts > 0, sem="relaxed")


@triton.jit
def atomic_kernel(
    x_ptr, weight_ptr, count_ptr, sum_ptr, n, bins, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr
):
    """Elements outside the bins count nowhere."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=-1)
    mask = (x >= 0) & (x < bins)
    tl.atomic_add(count_ptr + x, 1, mask=mask, sem="relaxed", scope="gpu")
    if WEIGHTED:
        w = tl.load(weight_ptr + at, mask=mask, other=0.0)
        tl.atomic_add(sum_ptr + x, w.to(tl.float32), mask=mask, sem="relaxed")


@triton.jit
def joint_kernel(x_ptr, y_ptr, count_ptr, n, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """One-hot rows and columns whose dot is the table of counts."""
    pairs = tl.zeros([SIDE, SIDE], tl.float32)
    side = tl.arange(0, SIDE)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=-1)
        y = tl.load(y_ptr + at, mask=at < n, other=-1)
        left = (x[None, :] == side[:, None]).to(tl.float16)
        right = (y[:, None] == side[None, :]).to(tl.float16)
        pairs = tl.dot(left, right, pairs)
    tl.store(count_ptr + side[:, None] * SIDE + side[None, :], pairs.to(tl.int32))


@triton.jit
def equalise_kernel(x_ptr, count_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Every program makes the table of 256 levels, and maps its block through it."""
    counts = tl.load(count_ptr + tl.arange(0, 256))
    total = tl.cumsum(counts, 0)
    first = tl.min(tl.where(counts > 0, total, n), 0)
    table = (total - first) * 255 // tl.maximum(n - first, 1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    level = tl.gather(table, x.to(tl.int32), 0)
    tl.store(out_ptr + at, level.to(tl.uint8), mask=at < n)


@pytest.mark.parametrize("dtype, bins", [("u8", 256), ("i32", 16), ("i64", 512)])
@pytest.mark.parametrize("n, block, warps", [(5000, 512, 4), (333, 128, 8)])
def test_private(device, dtype, bins, n, block, warps):
    """Counts that programs keep to themselves are added to what was there."""
    x = random(n, dtype, 1, low=0, high=bins)
    counts = device.to(np.full(bins, 3, np.int32))
    private_kernel[(3,)](device.to(x), counts, n, BINS=bins, BLOCK=block, num_warps=warps)
    np.testing.assert_array_equal(device.numpy(counts), 3 + np.bincount(x, minlength=bins))


@pytest.mark.parametrize("weight", [None, "fp32", "fp16"])
def test_atomic(device, weight):
    """One atomic per element counts, or adds weights, and leaves out what is outside."""
    n, bins = 3001, 77
    x = random(n, "i32", 2, low=-10, high=90)
    w = random(n, weight or "fp32", 3)
    counts, sums = device.to(np.zeros(bins, np.int32)), device.to(np.zeros(bins, np.float32))
    atomic_kernel[(triton.cdiv(n, 256),)](
        device.to(x), device.to(w), counts, sums, n, bins, WEIGHTED=weight is not None, BLOCK=256
    )
    inside = (x >= 0) & (x < bins)
    np.testing.assert_array_equal(device.numpy(counts), np.bincount(x[inside], minlength=bins))
    wide = w.astype(np.float64)[inside] * (weight is not None)
    expected = np.bincount(x[inside], wide, minlength=bins)
    allowed = 1e-5 * np.bincount(x[inside], np.abs(wide), minlength=bins)
    assert (np.abs(device.numpy(sums) - expected) <= allowed).all()


@pytest.mark.parametrize("side, n", [(16, 1000), (64, 515)])
def test_joint(device, side, n):
    """The joint histogram of two arrays is NumPy's."""
    x, y = (random(n, "i32", seed, low=0, high=side) for seed in (4, 5))
    counts = device.output((side, side), "i32")
    joint_kernel[(1,)](device.to(x), device.to(y), counts.array, n, SIDE=side, BLOCK=64)
    expected = np.bincount(x * side + y, minlength=side * side).reshape(side, side)
    np.testing.assert_array_equal(counts.numpy(), expected)


def test_equalise(device):
    """An image is equalised by the cumulative histogram."""
    x = (np.abs(random((37, 61), "fp32", 6)) * 40 + 50).astype(np.uint8)
    counts, out = device.to(np.zeros(256, np.int32)), device.output(x.shape, "u8")
    data = device.to(x)
    private_kernel[(2,)](data, counts, x.size, BINS=256, BLOCK=1024)
    equalise_kernel[(triton.cdiv(x.size, 512),)](data, counts, out.array, x.size, BLOCK=512)
    total = np.bincount(x.ravel(), minlength=256).cumsum()
    first = total[x.min()]
    np.testing.assert_array_equal(out.numpy(), ((total - first) * 255 // (x.size - first))[x])
