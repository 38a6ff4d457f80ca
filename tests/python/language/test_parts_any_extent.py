"""Parts, `cat`, `stack` and `pad` of tiles of any extent, on every device, against NumPy: every element, random data."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

SHAPES = [(48, 4), (5, 12), (7, 33), (96, 3), (16, 8)]


@triton.jit
def places(M: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]


@triton.jit
def taken_kernel(out_ptr, x_ptr, i, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr):
    x = tl.load(x_ptr + places(M, N))
    tl.store(out_ptr + places(P, N), x[M - P :])
    tl.store(out_ptr + P * N + places(M, 3), x[:, 2::-1])
    end = P * N + 3 * M
    tl.store(out_ptr + end + tl.arange(0, N), x[i])
    tl.store(out_ptr + end + N + tl.arange(0, M), x[:, i - 3])
    tl.store(out_ptr + end + N + M, x[i, -i])
    tl.store(out_ptr + end + N + M + 1 + places(M, N), x[::-1, ::-1])


@pytest.mark.parametrize("num_warps", [1, 3, 4])
@pytest.mark.parametrize("dtype", ["i8", "fp16", "i64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_taken(device, shape, dtype, num_warps):
    """Parts by index and slice, from both ends, are NumPy's."""
    m, n = shape
    x, p, i = random(shape, dtype, seed=1), 3, 2
    parts = [x[m - p :], x[:, 2::-1], x[i], x[:, i - 3], x[i, -i], x[::-1, ::-1]]
    expected = np.concatenate([np.ravel(part) for part in parts])
    out = device.output(expected.shape, dtype)
    taken_kernel[(1,)](out.array, device.to(x), i, m, n, p, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def replaced_kernel(out_ptr, x_ptr, i, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + places(M, N))
    y = x
    y[1:4] = y[2:5] * 2
    y[i] = y[-1]
    y[:, i - 3] = 7
    y[3::-1, ::2] += 5
    y[i, i] = 9
    tl.store(out_ptr + places(M, N), x)
    tl.store(out_ptr + M * N + places(M, N), y)


@pytest.mark.parametrize("num_warps", [1, 3, 4])
@pytest.mark.parametrize("shape", [*SHAPES, (6, 40)], ids=str)
def test_replaced(device, shape, num_warps):
    """Assignments to parts leave the rest as it was."""
    m, n = shape
    x, i = random(shape, "i32", seed=2), 2
    y = x.copy()
    y[1:4] = y[2:5].copy() * 2
    y[i] = y[-1]
    y[:, i - 3] = 7
    y[3::-1, ::2] += 5
    y[i, i] = 9
    out = device.output((2, m, n), "i32")
    replaced_kernel[(1,)](out.array, device.to(x), i, m, n, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), np.stack([x, y]))


@triton.jit
def joined_kernel(out_ptr, x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr):
    x, y = tl.load(x_ptr + places(M, N)), tl.load(y_ptr + places(P, N))
    tl.store(out_ptr + places(2 * M + P, N), tl.cat((x, y, x), dim=0))
    out_ptr += (2 * M + P) * N
    tl.store(out_ptr + places(M, 3 * N), tl.cat((x, x * 2, x * 3), dim=1))
    out_ptr += 3 * M * N
    stacked = tl.reshape(tl.stack((x, x + 1, x + 2), axis=1), (M * 3, N))
    tl.store(out_ptr + places(3 * M, N), stacked)
    out_ptr += 3 * M * N
    tl.store(out_ptr + places(M + 3, N + 5), tl.pad(x, ((1, 2), (0, 5)), constant_values=-3))
    out_ptr += (M + 3) * (N + 5)
    total = x * 0
    for row in y:
        total += row[None, :]
    tl.store(out_ptr + places(M, N), total)


@pytest.mark.parametrize("num_warps", [1, 4, 6])
@pytest.mark.parametrize("dtype", ["i32", "fp16", "u8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_joined(device, shape, dtype, num_warps):
    """`cat`, `stack` and `pad` join as NumPy does."""
    (m, n), p = shape, 3
    x, y = random(shape, dtype, seed=3, high=60), random((p, n), dtype, seed=4)
    x, y = np.rint(x).astype(x.dtype), np.rint(y).astype(y.dtype)  # sums are exact
    one = x.dtype.type(1)
    parts = [
        np.concatenate([x, y, x]),
        np.concatenate([x, x * (one + one), x * (one + one + one)], 1),
        np.stack([x, x + one, x + one + one], 1),
        np.pad(x, ((1, 2), (0, 5)), constant_values=x.dtype.type(-3) if dtype != "u8" else 253),
        np.broadcast_to(sum(y, y[0] * 0), shape),
    ]
    expected = np.concatenate([np.ravel(part) for part in parts])
    out = device.output(expected.shape, dtype)
    joined_kernel[(1,)](out.array, device.to(x), device.to(y), m, n, p, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def run_time_index_kernel(out_ptr, x_ptr, i_ptr, N: tl.constexpr, COUNT: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    for k in range(COUNT):
        i = tl.load(i_ptr + k)
        tl.store(out_ptr + k, x[i])
        x[i] = k


@pytest.mark.parametrize("extent", [3, 12, 100, 127])
@pytest.mark.parametrize("dtype", ["i32", "i64", "i8"])
def test_every_run_time_index(device, extent, dtype):
    """From the start and from the end, also in 64 bits."""
    x, indices = random(extent, "i32", 5), np.arange(-extent, extent).astype(random(1, dtype).dtype)
    out = device.output(2 * extent, "i32")
    run_time_index_kernel[(1,)](out.array, device.to(x), device.to(indices), extent, 2 * extent)
    expected = np.zeros(2 * extent, np.int32)
    for k, i in enumerate(indices):
        expected[k], x[i] = x[i], k
    np.testing.assert_array_equal(out.numpy(), expected)
