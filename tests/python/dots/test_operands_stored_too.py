"""Operands that a loop computes, reads by several dots, and stores to memory in another layout: before or
after the dots, of either side, invariant or not, next to a dot of another instruction."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def stored_kernel(
    x_ptr, y_ptr, xs_ptr, ys_ptr, out_ptr, also_ptr, steps, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, LATE: tl.constexpr, TWICE: tl.constexpr, BOTH: tl.constexpr,
):  # fmt: skip
    """Sums of (x + 1) (2 y), stored on the way; with TWICE of (x + 1) (x + 1)' (2 y) as well."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc, also = tl.zeros((M, N), tl.float32), tl.zeros((M, N), tl.float32)
    x_at, y_at = m[:, None] * K + k[None, :], k[:, None] * N + n[None, :]
    for step in range(steps):
        y = tl.load(y_ptr + step * K * N + y_at) * 2
        if not LATE:
            tl.store(ys_ptr + step * K * N + y_at, y)
        x = tl.load(x_ptr + step * M * K + x_at) + 1
        if BOTH and not LATE:
            tl.store(xs_ptr + step * M * K + x_at, x)
        acc = tl.dot(x, y, acc)
        if TWICE:
            square = tl.dot(x, tl.trans(x)).to(x.dtype)
            also = tl.dot(square, tl.dot(x, y).to(x.dtype), also)
            also = tl.dot(x * 0.5, y, also)
        if LATE:
            tl.store(ys_ptr + step * K * N + y_at, y)
            if BOTH:
                tl.store(xs_ptr + step * M * K + x_at, x)
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)
    if TWICE:
        tl.store(also_ptr + m[:, None] * N + n[None, :], also)


@pytest.mark.parametrize(
    "late, twice, both", [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
)
@pytest.mark.parametrize(
    "tile, warps, stages",
    [((64, 64, 64), 4, 2), ((64, 128, 32), 8, 3), ((128, 64, 64), 8, 1), ((32, 32, 64), 4, 2)],
)
def test_stored_too(device, tile, warps, stages, late, twice, both):
    """Each element of the sums and of what is stored."""
    (m, n, k), steps = tile, 3
    x, y = random((steps, m, k), "fp16", 1) / 8, random((steps, k, n), "fp16", 2) / 8
    x, y = x.astype(np.float16), y.astype(np.float16)
    xs, ys = device.output(x.shape, "fp16"), device.output(y.shape, "fp16")
    out, also = (device.output((m, n), "fp32") for _ in range(2))
    stored_kernel[(1,)](
        device.to(x), device.to(y), xs.array, ys.array, out.array, also.array, steps, M=m, N=n, K=k,
        LATE=bool(late), TWICE=bool(twice), BOTH=bool(both), num_warps=warps, num_stages=stages,
    )  # fmt: skip
    x1, y2 = x + np.float16(1), y * np.float16(2)
    np.testing.assert_array_equal(ys.numpy(), y2)
    if both:
        np.testing.assert_array_equal(xs.numpy(), x1)
    a, b = x1.astype(np.float64), y2.astype(np.float64)
    exact = (a @ b).sum(0)
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=1e-3 * np.abs(exact).max())
    if twice:
        squares = (a @ a.swapaxes(1, 2)).astype(np.float16).astype(np.float64)
        exact = (squares @ (a @ b).astype(np.float16).astype(np.float64)).sum(0) + exact / 2
        np.testing.assert_allclose(also.numpy(), exact, rtol=0, atol=4e-3 * np.abs(exact).max())
