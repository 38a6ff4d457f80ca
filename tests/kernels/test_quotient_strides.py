"""GEMMs whose rows are a quotient of an argument apart, such as two weights of 4 bits a byte.

A launch checks that such rows begin at multiples of 16 bytes; where they do not, it takes code that
needs no tensor maps. Results in fp32 within 1e-3 of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

B = 64


@triton.jit
def quotient_kernel(
    out, a, w, M, N, K, BY: tl.constexpr, MASKED: tl.constexpr, TRANSPOSED: tl.constexpr,
    B: tl.constexpr,
):  # fmt: skip
    """A of M rows and W of N rows, or W transposed, each K // BY long; out has N // BY * BY columns."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    depth = tl.arange(0, B)
    n = N // BY * BY
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K // BY, B):
        x_ptrs = a + rows[:, None] * (K // BY) + (k + depth)[None, :]
        if TRANSPOSED:
            y_ptrs = w + (k + depth)[:, None] * (N // BY) + columns[None, :]
        else:
            y_ptrs = w + (k + depth)[:, None] + columns[None, :] * (K // BY)
        if MASKED:
            inside = k + depth < K // BY
            end = N // BY if TRANSPOSED else N
            x = tl.load(x_ptrs, mask=(rows < M)[:, None] & inside[None, :], other=0)
            y = tl.load(y_ptrs, mask=inside[:, None] & (columns < end)[None, :], other=0)
        else:
            x, y = tl.load(x_ptrs), tl.load(y_ptrs)
        acc += tl.dot(x, y.to(x.dtype))
    end = N // BY if TRANSPOSED else n
    mask = (rows < M)[:, None] & (columns < end)[None, :]
    tl.store(out + rows[:, None] * end + columns[None, :], acc, mask=mask)


def run(device, m, n, k, by, stored, masked, transposed):
    """Checks each element; the compiled kernel."""
    depth, width = k // by, n // by if transposed else n // by * by
    a = random((m, depth), "fp16", seed=1)
    w = random((depth, width) if transposed else (width, depth), stored, seed=2)
    out = device.output((m, width), "fp32")
    compiled = quotient_kernel[(triton.cdiv(m, B), triton.cdiv(width, B))](
        out.array, device.to(a), device.to(w), m, n, k, by, masked, transposed, B, num_stages=3,
        disabled_passes="occupancy-first",
    )  # fmt: skip
    right = w.astype(np.float64) if transposed else w.astype(np.float64).T
    expected = a.astype(np.float64) @ right
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=3e-2)
    return compiled


def tma_loads(compiled):
    """How many tiles a producer loads; none where there can be no producer."""
    if compiled and "ptx" in compiled.asm and "sm_90a" in compiled.asm["ptx"]:
        return sum("converted to TMA" in remark.message for remark in compiled.remarks)
    return None


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("stored", ["fp16", "i8"])
@pytest.mark.parametrize("by", [2, 3, 8])
def test_multiples(device, by, stored, transposed):
    """Rows that begin at multiples of 16 bytes. Bytes that all warps could not copy by the word stay in
    registers."""
    compiled = run(device, 2 * B, 2 * B * by, 4 * B * by, by, stored, False, transposed)
    assert tma_loads(compiled) in (None, 1 if stored == "i8" and by > 2 else 2)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("stored", ["fp16", "i8"])
@pytest.mark.parametrize("k", [2 * 136, 2 * 132, 2 * 131, 2 * 131 + 1, 48])
def test_masked(device, k, stored, transposed):
    """Among them rows at no multiple of 16 bytes, and quotients that are rounded."""
    run(device, B + 9, 2 * B + 16, k, 2, stored, True, transposed)


@triton.jit
def few_rows(a, b, c, M, N, K, S, B: tl.constexpr, BK: tl.constexpr):
    """C = A B with the rows of A from S % 64 on taken as zeros, S - (S // 64) * 64 as the bound."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    last = 0 - (S // 64) * 64 + S
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + deep[None, :], mask=(rows < last)[:, None] & (deep < K)[None, :], other=0.0)  # fmt: skip
        y = tl.load(b + deep[:, None] * N + columns[None, :], mask=(deep < K)[:, None] & (columns < N)[None, :], other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@pytest.mark.parametrize("given", [80, 16, 144, 63, 64])
def test_a_remainder_as_the_bound(device, given):
    """MLIR writes such a bound as `mod`, which a tensor map has to compute, too."""
    M, N, K = 64, 64, 320
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    out = device.output((M, N), "fp32")
    few_rows[(1,)](device.to(a), device.to(b), out.array, M, N, K, given, 64, 64, num_warps=4)
    wide = a.astype(np.float64)
    wide[given % 64 :] = 0
    np.testing.assert_allclose(out.numpy(), wide @ b.astype(np.float64), rtol=1e-3, atol=2e-2)
