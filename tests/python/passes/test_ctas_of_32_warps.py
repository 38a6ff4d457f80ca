"""CTAs of 32 warps: as many partial results of a reduction as lanes, and rows that fill the registers."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def log_sum_kernel(out_ptr, total_ptr, x_ptr, cols, BLOCK: tl.constexpr):
    """The row is held over two reductions as it was loaded."""
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=-float("inf")).to(tl.float32)
    top = tl.max(x, axis=0)
    total = top + tl.log(tl.sum(tl.exp(x - top), axis=0))
    tl.store(total_ptr + row, total)
    tl.store(out_ptr + row * cols + c, x * total, mask=c < cols)


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize(
    "cols, block, warps", [(65536, 65536, 32), (50001, 65536, 16), (3000, 4096, 32)]
)
def test_log_sum(device, dtype, cols, block, warps):
    """Rows of up to 65536 columns in 16 and 32 warps have the logarithm of their sum of exponentials."""
    x = random((2, cols), dtype, warps)
    out, total = device.output((2, cols), "fp32"), device.output(2, "fp32")
    log_sum_kernel[(2,)](out.array, total.array, device.to(x), cols, block, num_warps=warps)
    wide = x.astype(np.float64)
    expected = np.log(np.exp(wide).sum(1))
    np.testing.assert_allclose(total.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(out.numpy(), wide * expected[:, None], rtol=1e-5, atol=1e-6)


@triton.jit
def compose(a, b, c, d):
    """x -> c * (a * x + b) + d."""
    return a * c, b * c + d


@triton.jit
def reductions_kernel(best_ptr, at_ptr, a_ptr, b_ptr, x_ptr, y_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x, y = tl.load(x_ptr + n), tl.load(y_ptr + n)
    best, at = tl.max(y, axis=0, return_indices=True)
    a, b = tl.reduce((x, y), 0, compose)
    tl.store(best_ptr, best)
    tl.store(at_ptr, at)
    tl.store(a_ptr, a)
    tl.store(b_ptr, b)


@pytest.mark.parametrize("n", [1024, 4096, 128])
def test_order_of_parts(device, n):
    draw = np.random.default_rng(n)
    x = draw.uniform(0.98, 1.02, n).astype(np.float32)
    y = draw.integers(-40, 40, n).astype(np.float32)
    best, a, b = (device.output(1, "fp32") for _ in range(3))
    at = device.output(1, "i32")
    reductions_kernel[(1,)](
        best.array, at.array, a.array, b.array, device.to(x), device.to(y), n, num_warps=32
    )
    scale, shift = 1.0, 0.0
    for factor, term in zip(x.astype(np.float64), y.astype(np.float64)):
        scale, shift = scale * factor, shift * factor + term
    assert best.numpy()[0] == y.max() and at.numpy()[0] == y.argmax()
    np.testing.assert_allclose(a.numpy()[0], scale, rtol=1e-3)
    np.testing.assert_allclose(b.numpy()[0], shift, rtol=1e-3, atol=1e-2 * np.abs(y).sum() ** 0.5)
