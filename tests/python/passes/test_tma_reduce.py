"""TMA reductions: of dots in loops, from several programs, with masks."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def add_products(
    a_ptr, b_ptr, out_ptr, n, rows, COLUMNS: tl.constexpr, M: tl.constexpr, MASKED: tl.constexpr
):
    """out += b @ own, where each program has a matrix of its own."""
    m, c = tl.arange(0, M), tl.arange(0, COLUMNS)
    own = tl.load(a_ptr + tl.program_id(0) * COLUMNS * COLUMNS + c[:, None] * COLUMNS + c[None, :])
    for start in range(0, n, M):
        at = (start + m)[:, None] * COLUMNS + c[None, :]
        inside = (start + m < rows)[:, None]
        if MASKED:
            block = tl.load(b_ptr + at, mask=inside, other=0.0)
            tl.atomic_add(out_ptr + at, tl.dot(block, own), mask=inside, sem="relaxed")
        else:
            block = tl.load(b_ptr + at)
            tl.atomic_add(out_ptr + at, tl.dot(block, own), sem="relaxed")


@pytest.mark.parametrize(
    "rows, columns, block, warps, programs",
    [(256, 64, 64, 4, 5), (256, 128, 64, 8, 3), (192, 32, 64, 4, 2), (256, 128, 128, 8, 1)],
)
@pytest.mark.parametrize("masked", [False, True])
def test_dots_in_loops(device, rows, columns, block, warps, programs, masked):
    inside = rows - 24 if masked else rows
    a = random((programs, columns, columns), "fp16", 1)
    b = random((rows, columns), "fp16", 2)
    start = random((rows, columns), "fp32", 3)
    out = device.to(start.copy())
    kernel = add_products[(programs,)](
        device.to(a), device.to(b), out, rows, inside, COLUMNS=columns, M=block, MASKED=masked,
        num_warps=warps,
    )  # fmt: skip
    if device.arch == 90:
        assert "cp.reduce.async.bulk.tensor" in kernel.asm["ptx"]
    expected = start.astype(np.float64)
    expected[:inside] += b[:inside].astype(np.float64) @ a.astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-3, atol=2e-3)
