"""Two arguments that are the same memory, with barriers between the accesses: what stands after a barrier reads and
writes what those before it left, whatever is prefetched, software-pipelined or moved by TMA."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def through_scratch(x_ptr, w_ptr, scratch_out, scratch_in, out_ptr, STEPS: tl.constexpr, B: tl.constexpr):  # fmt: skip
    """The sum of (2 x[k]) w[k], whose left operand goes through memory."""
    r = tl.arange(0, B)
    tile = r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(STEPS):
        x = tl.load(x_ptr + k * B * B + tile)
        tl.store(scratch_out + tile, x + x)
        tl.debug_barrier()
        y = tl.load(scratch_in + tile)
        w = tl.load(w_ptr + k * B * B + tile)
        acc = tl.dot(y, w, acc)
        tl.debug_barrier()
    tl.store(out_ptr + tile, acc)


@triton.jit
def by_rows(x_ptr, row_out, row_in, out_ptr, STEPS: tl.constexpr, B: tl.constexpr):
    """The same with a vector next to the dot's operands: loops load it for their next iteration."""
    r = tl.arange(0, B)
    tile = r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(STEPS):
        x = tl.load(x_ptr + k * B * B + tile)
        tl.store(row_out + r, tl.sum(x.to(tl.float32), 1))
        tl.debug_barrier()
        acc = tl.dot(x, x, acc) + tl.load(row_in + r)[None, :]
        tl.debug_barrier()
    tl.store(out_ptr + tile, acc)


@triton.jit
def written_twice(x_ptr, w_ptr, first_ptr, out_ptr, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):  # fmt: skip
    """A dot over what was cleared through another argument."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B)
    at = m[:, None] * N + n[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, B):
        x = tl.load(x_ptr + m[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(first_ptr + at, tl.full((M, N), -1.0, tl.float16))
    tl.debug_barrier()
    tl.store(out_ptr + at, acc.to(tl.float16))


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("warps", [4, 8])
def test_scratch_matrices(device, warps, stages):
    x, w = random((6, 64, 64), "fp16"), random((6, 64, 64), "fp16")
    scratch, out = device.to(random((64, 64), "fp16")), device.output((64, 64), "fp32")
    through_scratch[(1,)](
        device.to(x), device.to(w), scratch, scratch, out.array, STEPS=6, B=64,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    exact = sum((x[i] + x[i]).astype(np.float64) @ w[i].astype(np.float64) for i in range(6))
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("stages", [2, 4])
def test_scratch_rows(device, stages):
    x = random((5, 64, 64), "fp16")
    row, out = device.to(random(64, "fp32")), device.output((64, 64), "fp32")
    by_rows[(1,)](device.to(x), row, row, out.array, STEPS=5, B=64, num_stages=stages)
    wide = x.astype(np.float64)
    exact = sum(wide[i] @ wide[i] + wide[i].sum(axis=1)[None, :] for i in range(5))
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("M,N,warps", [(128, 128, 4), (128, 128, 8), (64, 128, 4)])
def test_later_writes_stay(device, M, N, warps):
    x, w = random((M, 192), "fp16"), random((192, N), "fp16")
    out = device.output((M, N), "fp16")
    written_twice[(1,)](
        device.to(x), device.to(w), out.array, out.array, 192, M=M, N=N, B=64, num_warps=warps,
        enabled_passes="nv-tma-stores",
    )  # fmt: skip
    exact = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(out.numpy().astype(np.float64), exact, rtol=2e-3, atol=1e-2)
