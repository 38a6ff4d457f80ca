"""Blocks that load for each other: pairs with and without a common tile, odd numbers of programs, either operand, several orders and types.

On the CPU the same texts run without; a GPU's kernels are asked whether they have pairs.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_product, random

PAIRED = "nv-pair-blocks"
MULTICAST = ".multicast::cluster"
BLOCKS = [
    (128, 256, 64, 3, 8),
    (128, 64, 64, 3, 4),
    (64, 64, 32, 2, 4),
    (64, 32, 64, 4, 4),
]


@triton.jit
def grouped(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ADDS: tl.constexpr = False,
):  # fmt: skip
    """C = A B, or C += A B, in groups of rows of blocks; masked."""
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first = pid // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    m = first + pid % (GROUP * columns) % height
    n = pid % (GROUP * columns) // height
    offs_m = m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = n * BLOCK_N + tl.arange(0, BLOCK_N)
    deep = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + deep[None, :] * stride_ak
    b_ptrs = b_ptr + deep[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (deep[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(deep[:, None] < left) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    if ADDS:
        acc += tl.load(c_ptrs, mask=mask, other=0.0)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def check(device, shape, block, group, dtype="fp16", turned=(False, False), passes=PAIRED):
    """Runs the product of random operands, `turned` ones by columns, and asks for pairs."""
    (M, N, K), (block_m, block_n, block_k, stages, warps) = shape, block
    a, b = random((M, K), dtype, M + N), random((K, N), dtype, K)
    da = device.to(np.ascontiguousarray(a.T)).T if turned[0] else device.to(a)
    db = device.to(np.ascontiguousarray(b.T)).T if turned[1] else device.to(b)
    out = device.output((M, N), dtype)
    kernel = grouped[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
        da, db, out.array, M, N, K,
        *device.strides(da), *device.strides(db), *device.strides(out.array),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP=group,
        num_stages=stages, num_warps=warps, enabled_passes=passes,
    )  # fmt: skip
    check_product(out.numpy(), a, b)
    if device.arch == 90:
        assert MULTICAST in kernel.asm["ptx"]
        assert kernel.metadata.cluster_dims == (2, 1, 1)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("blocks", [(1, 1), (2, 2), (3, 3), (5, 2), (4, 5)], ids=str)
def test_numbers_of_programs(device, block, blocks):
    """Of an odd number, the last program's other block stores nothing."""
    shape = (blocks[0] * block[0] - 8, blocks[1] * block[1] - 16, 2 * block[2] + 16)
    check(device, shape, block, group=2)


@pytest.mark.parametrize("group", [1, 2, 3, 8])
def test_groups(device, group):
    """Pairs have their columns in common, or their rows (groups of one), or nothing (where a group ends)."""
    check(device, (5 * 64, 3 * 64, 160), BLOCKS[2], group)
    check(device, (3 * 64, 5 * 32, 208), BLOCKS[3], group)


@pytest.mark.parametrize("turned", [(False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("group", [1, 2])
def test_orders(device, turned, group):
    """A tile is halved between its panels, or across its rows."""
    check(device, (4 * 128, 2 * 64, 144), BLOCKS[1], group, turned=turned)
    check(device, (3 * 64, 3 * 32, 80), BLOCKS[3], group, turned=turned)


def test_bf16(device):
    check(device, (3 * 64, 2 * 64, 96), BLOCKS[2], 2, dtype="bf16", turned=(False, True))


def test_results_leave_by_the_copy_engine(device):
    check(device, (5 * 64, 3 * 64, 96), BLOCKS[2], 2, passes=PAIRED + ",nv-raise-stores")


def test_each_program_adds_once(device):
    """Also the one that both blocks of the last pair are at."""
    M, N, K = 3 * 64, 3 * 64, 80
    a, b, c = random((M, K), "fp16", 1), random((K, N), "fp16", 2), random((M, N), "fp32", 3)
    expected = c.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
    da, db, dc = device.to(a), device.to(b), device.to(c)
    grouped[(9,)](
        da, db, dc, M, N, K, *device.strides(da), *device.strides(db), *device.strides(dc),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP=8, ADDS=True,
        num_stages=3, num_warps=4, enabled_passes=PAIRED,
    )  # fmt: skip
    np.testing.assert_allclose(device.numpy(dc), expected, rtol=1e-4, atol=1e-3)
