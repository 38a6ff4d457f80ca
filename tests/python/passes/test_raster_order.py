"""Persistent CTAs visit programs in raster groups: each runs once, whatever the grid.

On the CPU the same kernels run in order; on a GPU the plans must have raster groups.
"""

import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random

ORDERED = "nv.raster_program"


@triton.jit
def product_tile(
    a, b, c, m, n, M, N, K, pitch_a, pitch_b,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """One tile of C = A B, everything masked; a row of B is as far from the next as one of C."""
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


ROWS_FIRST, COLUMNS_FIRST = (128, 32, 32), (64, 128, 32)
"""Tiles of which a group has eight."""


def check(device, kernel, block, blocks, batches, grid, **options):
    """Runs `kernel` for as many tiles of rows and columns, the last ones partial."""
    M, N, K = blocks[0] * block[0] - 8, blocks[1] * block[1] - 16, 48
    a = random((batches, M, K), "fp16")
    b = random((batches, K, N), "fp16", seed=1)
    out = device.output((batches, M, N), "fp16")
    compiled = kernel[grid](
        device.to(a), device.to(b), out.array, M, N, K, K, N, M * K, K * N, M * N,
        BLOCK_M=block[0], BLOCK_N=block[1], BLOCK_K=block[2], num_warps=4, num_stages=2, **options,
    )  # fmt: skip
    result = out.numpy()
    for x, y, z in zip(a, b, result, strict=True):
        check_gemm(z, x, y)
    return compiled


def check_ordered(device, compiled, expected=True):
    if device.arch == 90:
        assert (ORDERED in compiled.asm["pipeline"]) == expected


# Along the fast axis and the other one: one tile, fewer than five groups, five and six.
SHAPES = [(1, 1), (9, 4), (32, 2), (33, 1), (33, 3), (40, 2), (43, 2)]


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_along_the_first_axis(device, shape, batches):
    compiled = check(device, by_two_axes, ROWS_FIRST, shape, batches, (*shape, batches))
    check_ordered(device, compiled)


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_columns_along_the_first_axis(device, shape, batches):
    compiled = check(device, columns_first, COLUMNS_FIRST, shape[::-1], batches, (*shape, batches))
    check_ordered(device, compiled)


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_quotient_and_remainder(device, shape, batches):
    grid = (shape[0] * shape[1], batches)
    compiled = check(device, by_one_axis, COLUMNS_FIRST, shape[::-1], batches, grid)
    check_ordered(device, compiled)


@pytest.mark.parametrize("more", [1, 4, 50])
def test_more_programs_than_output_tiles(device, more):
    """The last row of programs is cut off, so the planes of a batch do not begin with its own."""
    check(device, by_one_axis, COLUMNS_FIRST, (2, 35), 2, (70 + more, 2))


def test_without_it(device):
    options = {"disabled_passes": "nv-order-raster"}
    compiled = check(device, by_two_axes, ROWS_FIRST, (35, 2), 1, (35, 2), **options)
    check_ordered(device, compiled, expected=False)
