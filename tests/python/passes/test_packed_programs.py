"""Programs of one warp that run in one CTA on the GPU."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def softmax_kernel(out_ptr, x_ptr, cols, BLOCK: tl.constexpr):
    """Softmax of the row that the program's number along all axes names."""
    row = tl.program_id(0)
    row += tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


@pytest.mark.parametrize("grid", [(8,), (64,), (6,), (7,), (4, 3), (2, 3, 5), (1, 40)])
def test_softmax_of_a_row_per_program(device, grid):
    """Each packed program has the softmax of its own row."""
    rows, cols = int(np.prod(grid)), 100
    x = random((rows, cols), "fp32", 1)
    out = device.to(np.full((rows, cols), np.nan, dtype=np.float32))
    softmax_kernel[grid](out, device.to(x), cols, BLOCK=128, num_warps=1)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-8)


@triton.jit
def walk_kernel(out_ptr, x_ptr, rows, BLOCK: tl.constexpr):
    """Each program leaves at once, or sums every so many rows, in steps that differ."""
    program = tl.program_id(0)
    if program % 3 == 1:
        return
    c = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(program, rows, tl.num_programs(0) - program % 2):
        total += tl.load(x_ptr + row * BLOCK + c)
    tl.store(out_ptr + program, tl.sum(total, axis=0))


def test_programs_of_different_length(device):
    programs, rows, block = 12, 61, 64
    x = random((rows, block), "fp32", 2)
    start = random((programs,), "fp32", 3)
    out = device.to(start)
    walk_kernel[(programs,)](out, device.to(x), rows, BLOCK=block, num_warps=1)
    sums = x.astype(np.float64).sum(axis=1)
    expected = [
        start[p] if p % 3 == 1 else sums[p :: programs - p % 2].sum() for p in range(programs)
    ]
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-4)


@triton.jit
def column_kernel(out_ptr, x_ptr, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    """One number per column is stored by one lane of each warp, and a product by all of them."""
    program = tl.program_id(0)
    r, c = tl.arange(0, ROWS), program * COLS + tl.arange(0, COLS)
    x = tl.load(x_ptr + r[:, None] * cols + c[None, :])
    tl.store(out_ptr + c, tl.sum(x, axis=0) + program)


def test_columns(device):
    """Each packed program has the sums of its own columns."""
    rows, cols, width = 16, 192, 8
    x = random((rows, cols), "fp32", 4)
    out = device.to(np.full(cols, np.nan, dtype=np.float32))
    column_kernel[(cols // width,)](out, device.to(x), cols, ROWS=rows, COLS=width, num_warps=1)
    expected = x.astype(np.float64).sum(axis=0) + np.arange(cols) // width
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-5)


@triton.jit
def threads_kernel(out_ptr, n, BLOCK: tl.constexpr):
    """How many threads the CTA of each program has."""
    c = tl.arange(0, BLOCK)
    threads = tl.inline_asm_elementwise(
        "mov.u32 $0, %ntid.x;", "=r,r", [c], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out_ptr + tl.program_id(0) * n + c, threads, mask=c < n)


@pytest.mark.parametrize("factor, threads", [(8, 128), (2, 64), (1, 32)])
def test_programs_per_cta(device, factor, threads):
    """All CTAs get as many programs, four at most."""
    if device.arch is None:
        pytest.skip("the CPU has no CTAs")
    # More than run at once in CTAs of their own.
    programs = factor * (9999 if device.on_gpu else 5)
    out = device.to(np.zeros((programs, 4), dtype=np.int32))
    threads_kernel[(programs,)](out, 4, BLOCK=32, num_warps=1)
    assert (device.numpy(out) == threads).all()
