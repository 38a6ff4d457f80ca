"""Remainders in addresses whose rows are all used: raised where tiles fill their range, which a launch finds out; else the other variant runs."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

N, K, BLOCK = 112, 80, (64, 64, 32)


@triton.jit
def unmasked(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """C has a row for each row of each tile."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + (rows % M)[:, None] * sam + deep[None, :] * sak, mask=deep[None, :] < K, other=0.0)  # fmt: skip
        y = tl.load(b + deep[:, None] * sbk + (cols % N)[None, :] * sbn, mask=deep[:, None] < K, other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=cols[None, :] < N)


@triton.jit
def sums(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """C has a row for each tile: the sum of its rows. Pointers go on."""
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    deep = tl.arange(0, BK)
    a_ptrs = a + rows[:, None] * sam + deep[None, :] * sak
    b_ptrs = b + deep[:, None] * sbk + cols[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a_ptrs, mask=deep[None, :] < K - k, other=0.0)
        y = tl.load(b_ptrs, mask=(deep[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    tl.store(c + tl.program_id(0) * N + cols, tl.sum(acc, 0), mask=cols < N)


@triton.jit
def started_apart(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Tiles that start eight rows late wrap around within, whatever M is."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + ((rows + 8) % M)[:, None] * sam + deep[None, :] * sak, mask=deep[None, :] < K, other=0.0)  # fmt: skip
        y = tl.load(b + deep[:, None] * sbk + cols[None, :] * sbn, mask=(deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=cols[None, :] < N)


def expected_of(kernel, a, b, tiles):
    rows = np.arange(tiles * BLOCK[0])
    if kernel is started_apart:
        rows = rows + 8
    every = a.astype(np.float64)[rows % len(a)] @ b.astype(np.float64)
    return every.reshape(tiles, BLOCK[0], -1).sum(1) if kernel is sums else every


def multiply(device, kernel, rows, tiles):
    a, b = random((rows, K), "fp16", rows), random((K, N), "fp16", 7)
    expected = expected_of(kernel, a, b, tiles)
    out = device.output(expected.shape, "fp32")
    compiled = kernel[(tiles, triton.cdiv(N, BLOCK[1]))](
        device.to(a), device.to(b), out.array, rows, N, K, K, 1, N, 1, *BLOCK
    )
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    return compiled


def conditions(compiled):
    return [
        remark.message
        for remark in compiled.remarks
        if "load is converted to TMA" in remark.message and "is a multiple of 64" in remark.message
    ]


@pytest.mark.parametrize("kernel", [unmasked, sums], ids=["unmasked", "sums"])
def test_both_variants(device, kernel):
    """Tiles that fill the range, that wrap around within, more tiles than there are rows, and fewer rows than a tile has."""
    compiled = multiply(device, kernel, 192, 3)
    for rows, tiles in [(144, 3), (128, 5), (16, 2), (320, 4), (64, 1)]:
        again = multiply(device, kernel, rows, tiles)
        assert again is compiled or device.arch is None
    if device.arch == 90:
        assert len(conditions(compiled)) == 1
        assert "cp.async.bulk.tensor" in compiled.asm["ptx"]
    # Rows that nothing is known of.
    multiply(device, kernel, 101, 2)


def test_tiles_that_always_wrap(device):
    compiled = multiply(device, started_apart, 128, 2)
    multiply(device, started_apart, 144, 3)
    assert not conditions(compiled)
