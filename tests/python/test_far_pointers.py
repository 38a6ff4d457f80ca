"""Arrays whose elements, or bytes, cannot be counted in 32 bits: every access to them reaches what its index says.

Most of such an array is never touched, so that it costs no memory but on a GPU.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

FAR = 2**31


class Far:
    """An array of which a test looks at a few places; `array` goes to kernels."""

    def __init__(self, device, count, dtype):
        self.device, self.array = device, device.empty(count, dtype)

    def put(self, at, values):
        self.array[at : at + len(values)] = self.device.to(values)
        return values

    def get(self, at, count):
        return np.array(self.device.numpy(self.array[at : at + count]))


@triton.jit
def last_rows_kernel(
    out, a, b, first, M, K: tl.constexpr, STRIDE: tl.constexpr, BM: tl.constexpr,
    CARRIES: tl.constexpr,
):  # fmt: skip
    rows, n, k = first + tl.arange(0, BM), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros([BM, 64], dtype=tl.float32)
    x_ptrs = a + rows[:, None] * STRIDE + k[None, :]
    for step in range(0, K, 32):
        if CARRIES:
            x = tl.load(x_ptrs, mask=(rows[:, None] < M) & (step + k < K)[None, :], other=0.0)
            x_ptrs += 32
        else:
            x_ptrs = a + rows[:, None] * STRIDE + (step + k)[None, :]
            x = tl.load(x_ptrs, mask=rows[:, None] < M, other=0.0)
        total = tl.dot(x, tl.load(b + (step + k)[:, None] * 64 + n[None, :]), total)
    m = tl.arange(0, BM)
    tl.store(out + m[:, None] * 64 + n[None, :], total)


@pytest.mark.parametrize("carries", [False, True])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("stride, missing", [(64, 1), (64, 3), (256, 17)])
def test_rows_behind_the_last_one(device, stride, missing, warps, carries):
    """The indices of rows that the mask takes away wrap around; no other address may follow from theirs."""
    rows, depth, block = FAR // stride - missing, 64, 64
    first = rows - 40
    a = Far(device, rows * stride, np.float16)
    x = a.put(first * stride, random((40 * stride,), "fp16", 1)).reshape(40, stride)[:, :depth]
    b, out = random((depth, 64), "fp16", 2), device.output((block, 64), "fp32")
    last_rows_kernel[(1,)](
        out.array, a.array, device.to(b), first, rows, K=depth, STRIDE=stride, BM=block,
        CARRIES=carries, num_warps=warps,
    )  # fmt: skip
    expected = np.zeros((block, 64))
    expected[:40] = x.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
