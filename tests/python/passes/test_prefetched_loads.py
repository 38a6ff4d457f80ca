"""Rows of a loop, prefetched on the GPU."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def walk_kernel(out_ptr, x_ptr, scale_ptr, rows, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    c = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=-float("inf"))
        scale = tl.load(scale_ptr + row)
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * cols + c, scale * e / tl.sum(e, axis=0), mask=c < cols)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("shape", [(1, 64), (7, 1000), (9, 4096), (3, 17), (27, 200)])
@pytest.mark.parametrize("stages", [2, 4])
def test_softmax_that_walks(device, shape, stages, num_warps):
    rows, cols = shape
    x, scale = random(shape, "fp32", 1), random((rows,), "fp32", 2)
    out = device.to(np.full(shape, np.nan, dtype=np.float32))
    walk_kernel[(4,)](
        out,
        device.to(x),
        device.to(scale),
        rows,
        cols,
        BLOCK=triton.next_power_of_2(cols),
        STAGES=stages,
        num_warps=num_warps,
    )
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    expected = scale[:, None] * e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-8)


@triton.jit
def difference_kernel(out_ptr, x_ptr, start, end, step, B: tl.constexpr):
    c = tl.arange(0, B)
    total = tl.zeros([B], dtype=tl.float32)
    for i in tl.range(start, end, step, num_stages=3):
        offsets = (i - start) * B + c
        total += tl.load(x_ptr + offsets) * (i - start + 1)
        total -= tl.load(x_ptr + offsets + 1)
    tl.store(out_ptr + c, total)


@pytest.mark.parametrize("bounds", [(0, 0, 1), (5, 5, 3), (0, 7, 3), (2**31 - 9, 2**31 - 1, 5)])
def test_ends_of_loops(device, bounds):
    """Nothing is read after the last iteration, also where the counter would overflow."""
    B = 128
    start, end, step = bounds
    x = random(((end - start) * B + 1,), "fp32", 3)
    out = device.to(np.full(B, np.nan, dtype=np.float32))
    difference_kernel[(1,)](out, device.to(x), start, end, step, B=B)
    expected = np.zeros(B)
    for i in range(0, end - start, step):
        row = x[i * B : i * B + B + 1].astype(np.float64)
        expected += row[:-1] * (i + 1) - row[1:]
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-5)
