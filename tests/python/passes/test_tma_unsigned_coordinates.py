"""Operands of dots at rows that unsigned operations, bits and choices find, which loads by TMA take as coordinates."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

FIRST = {
    "minimum": lambda any_sign, count: np.minimum(any_sign.astype(np.uint32), count),
    "and": lambda any_sign, count: any_sign & count,
    "rest": lambda any_sign, count: any_sign.astype(np.uint32) % 100,
    "maximum": lambda any_sign, count: np.maximum(count, 7),
    "choice": lambda any_sign, count: np.where(any_sign > 0, count >> 1, count | 1),
}


@triton.jit
def matmul(a, b, c, depth, stride, WAY: tl.constexpr, B: tl.constexpr):
    """C = A[first : first + B] B, `first` of two numbers of the program, of which one may be negative."""
    any_sign, count = tl.program_id(0) - 3, tl.program_id(1) * 9
    if WAY == "minimum":
        first = tl.minimum(any_sign.to(tl.uint32), count.to(tl.uint32)).to(tl.int32)
    elif WAY == "and":
        first = any_sign & count
    elif WAY == "rest":
        first = (any_sign.to(tl.uint32) % 100).to(tl.int32)
    elif WAY == "maximum":
        first = tl.maximum(count.to(tl.uint32), 7).to(tl.int32)
    else:
        first = tl.where(any_sign > 0, count >> 1, count | 1)
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + (first + within)[:, None] * stride + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * B + within[None, :])
        acc = tl.dot(x, y, acc)
    c += (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * B * B
    tl.store(c + within[:, None] * B + within[None, :], acc)


@pytest.mark.parametrize("way", FIRST)
def test_rows_of_unsigned_operations(device, way):
    """Rows that unsigned operations find are the right ones."""
    depth, stride, grid = 128, 144, (6, 3)
    a, b = random((256, stride), "fp16", 1), random((depth, 64), "fp16", 2)
    out = device.output((*grid, 64, 64), "fp32")
    matmul[grid](device.to(a), device.to(b), out.array, depth, stride, WAY=way, B=64, num_stages=3)
    any_sign, count = np.indices(grid, np.int32)
    firsts = FIRST[way](any_sign - 3, count * 9)
    rows = firsts[:, :, None] + np.arange(64)
    exact = a[rows, :depth].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-3, atol=1e-2)
