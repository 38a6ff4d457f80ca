"""Programs that a persistent block takes in bands: each runs once, whatever the grid.

On the CPU the same texts run in order; a GPU's kernels are asked whether they have bands.
"""

import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_product, random

ORDERED = "nv.ordered_program"


@triton.jit
def product_tile(
    a, b, c, m, n, M, N, K, pitch_a, pitch_b,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """One block of C = A B, everything masked; a row of B is as far from the next as one of C."""
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        left = depth < K - k
        x_ptrs = a + rows[:, None] * pitch_a + (k + depth)[None, :]
        y_ptrs = b + (k + depth)[:, None] * pitch_b + columns[None, :]
        x = tl.load(x_ptrs, mask=(rows[:, None] < M) & left[None, :], other=0.0)
        y = tl.load(y_ptrs, mask=left[:, None] & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * pitch_b + columns[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def by_two_axes(
    a, b, c, M, N, K, pitch_a, pitch_b, size_a, size_b, size_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Rows along the first axis; the third is a batch."""
    batch = tl.program_id(2)
    a, b, c = a + batch * size_a, b + batch * size_b, c + batch * size_c
    m, n = tl.program_id(0), tl.program_id(1)
    product_tile(a, b, c, m, n, M, N, K, pitch_a, pitch_b, BLOCK_M, BLOCK_N, BLOCK_K)


@triton.jit
def columns_first(
    a, b, c, M, N, K, pitch_a, pitch_b, size_a, size_b, size_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Columns along the first axis; the third is a batch."""
    batch = tl.program_id(2)
    a, b, c = a + batch * size_a, b + batch * size_b, c + batch * size_c
    m, n = tl.program_id(1), tl.program_id(0)
    product_tile(a, b, c, m, n, M, N, K, pitch_a, pitch_b, BLOCK_M, BLOCK_N, BLOCK_K)


@triton.jit
def by_one_axis(
    a, b, c, M, N, K, pitch_a, pitch_b, size_a, size_b, size_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Rows and columns from quotient and remainder; the second axis is a batch."""
    pid, batch, across = tl.program_id(0), tl.program_id(1), tl.cdiv(N, BLOCK_N)
    a, b, c = a + batch * size_a, b + batch * size_b, c + batch * size_c
    m, n = pid // across, pid % across
    product_tile(a, b, c, m, n, M, N, K, pitch_a, pitch_b, BLOCK_M, BLOCK_N, BLOCK_K)


def check(device, kernel, blocks, batches, grid_of, **options):
    """Runs `kernel` for so many blocks of rows and columns, the last ones cut off."""
    block = (64, 32, 32)
    M, N, K = blocks[0] * block[0] - 8, blocks[1] * block[1] - 16, 48
    a = random((batches, M, K), "fp16")
    b = random((batches, K, N), "fp16", seed=1)
    out = device.output((batches, M, N), "fp16")
    compiled = kernel[grid_of(*blocks, batches)](
        device.to(a), device.to(b), out.array, M, N, K, K, N, M * K, K * N, M * N,
        BLOCK_M=block[0], BLOCK_N=block[1], BLOCK_K=block[2], num_warps=4, num_stages=2, **options,
    )  # fmt: skip
    result = out.numpy()
    for x, y, z in zip(a, b, result, strict=True):
        check_product(z, x, y)
    return compiled


SHAPES = [(1, 1), (5, 9), (9, 5), (17, 3), (3, 33), (8, 8), (1, 40), (40, 1)]
"""Blocks of rows and of columns."""


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("blocks", SHAPES, ids=str)
def test_two_axes(device, blocks, batches):
    for kernel, turned in ((by_two_axes, False), (columns_first, True)):
        compiled = check(
            device,
            kernel,
            blocks,
            batches,
            lambda m, n, z, turned=turned: (n, m, z) if turned else (m, n, z),
        )
        if device.arch == 90:
            assert ORDERED in compiled.asm["pipeline"]


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("blocks", SHAPES, ids=str)
def test_quotient_and_remainder(device, blocks, batches):
    compiled = check(device, by_one_axis, blocks, batches, lambda m, n, z: (m * n, z))
    if device.arch == 90:
        assert ORDERED in compiled.asm["pipeline"]


@pytest.mark.parametrize("more", [1, 4, 50])
def test_more_programs_than_blocks_of_the_result(device, more):
    """The last row of programs is cut off, so the planes of a batch do not begin with its own."""
    check(device, by_one_axis, (7, 6), 2, lambda m, n, z: (m * n + more, z))


def test_without_it(device):
    compiled = check(
        device,
        by_two_axes,
        (9, 5),
        2,
        lambda m, n, z: (m, n, z),
        disabled_passes="nv-order-programs",
    )
    if device.arch == 90:
        assert ORDERED not in compiled.asm["pipeline"]
