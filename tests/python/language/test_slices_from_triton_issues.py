"""What users of Triton asked for, by the numbers of their issues: parts of tiles as values.

The issues ask for one thing in several words: slices, elements at an index, parts put together, and
assignment to a part.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def rotary_kernel(out_ptr, x_ptr, angle_ptr, ROWS: tl.constexpr, D: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, D)
    places = rows[:, None] * D + columns[None, :]
    x = tl.load(x_ptr + places)
    angle = tl.load(angle_ptr + rows[:, None] * (D // 2) + columns[None, : D // 2])
    left, right = x[:, : D // 2], x[:, D // 2 :]
    cos, sin = tl.cos(angle), tl.sin(angle)
    turned = tl.cat((left * cos - right * sin, right * cos + left * sin), dim=1)
    tl.store(out_ptr + places, turned)


@pytest.mark.parametrize("rows, d, num_warps", [(16, 128, 4), (64, 64, 8), (4, 256, 1)])
def test_issue_656_halves_of_rows(device, rows, d, num_warps):
    x = random((rows, d), "fp32", seed=1)
    angle = random((rows, d // 2), "fp32", seed=2)
    out = device.output((rows, d), "fp32")
    rotary_kernel[(1,)](out.array, device.to(x), device.to(angle), rows, d, num_warps=num_warps)
    left, right = np.split(x.astype(np.float64), 2, 1)
    cos, sin = np.cos(angle.astype(np.float64)), np.sin(angle.astype(np.float64))
    expected = np.concatenate((left * cos - right * sin, right * cos + left * sin), 1)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)


@triton.jit
def solve_kernel(x_ptr, a_ptr, b_ptr, n, N: tl.constexpr):
    places = tl.arange(0, N)
    a = tl.load(a_ptr + places[:, None] * N + places[None, :])
    x = tl.load(b_ptr + places)
    for i in range(n):
        x[i] /= a[i, i]
        x = tl.where(places > i, x - a[:, i] * x[i], x)
    tl.store(x_ptr + places, x)


@pytest.mark.parametrize("N, num_warps", [(16, 1), (64, 4), (128, 8)])
def test_issue_2994_elements_at_run_time_indices(device, N, num_warps):
    a = np.tril(random((N, N), "fp32", seed=3)) / N + np.eye(N, dtype=np.float32)
    b = random(N, "fp32", seed=4)
    out = device.output(N, "fp32")
    solve_kernel[(1,)](out.array, device.to(a), device.to(b), N, N, num_warps=num_warps)
    expected = np.linalg.solve(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-5)


@triton.jit
def window_kernel(out_ptr, x_ptr, turns, W: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    window = tl.zeros((W, N), tl.float32)
    for k in range(turns):
        window[: W // 2] = window[W // 2 :]
        window[W // 2 :, : N // 2] += k
        window[-1] = tl.load(x_ptr + k * N + columns)
        tl.store(out_ptr + k * N + columns, tl.sum(window, 0))


@pytest.mark.parametrize("turns, shape, num_warps", [(5, (4, 64), 1), (9, (16, 32), 4)], ids=str)
def test_issue_7191_assignment_to_parts(device, turns, shape, num_warps):
    W, N = shape
    x = random((turns, N), "fp32", seed=5)
    out = device.output((turns, N), "fp32")
    window_kernel[(1,)](out.array, device.to(x), turns, W, N, num_warps=num_warps)
    window, expected = np.zeros(shape), []
    for k in range(turns):
        window[: W // 2] = window[W // 2 :].copy()
        window[W // 2 :, : N // 2] += k
        window[-1] = x[k]
        expected.append(window.sum(0))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@triton.jit
def together_kernel(out_ptr, x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x, y = tl.load(x_ptr + places), tl.load(y_ptr + places)
    tl.store(out_ptr + tl.arange(0, 2 * M * N), tl.ravel(tl.cat((x, y), dim=AXIS)))
    four = tl.cat((x[: M // 2], y, x[M // 2 :]), dim=0)
    tl.store(out_ptr + 2 * M * N + tl.arange(0, 2 * M * N), tl.ravel(four))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(16, 64), (64, 8)], ids=str)
def test_issue_3402_cat_along_any_dimension(device, shape, axis):
    M, N = shape
    x, y = random(shape, "fp16", seed=6), random(shape, "fp16", seed=7)
    out = device.output(4 * M * N, "fp16")
    together_kernel[(1,)](out.array, device.to(x), device.to(y), M, N, axis)
    expected = [np.concatenate((x, y), axis), np.concatenate((x[: M // 2], y, x[M // 2 :]))]
    np.testing.assert_array_equal(out.numpy(), np.concatenate([part.ravel() for part in expected]))


@triton.jit
def scan_rows_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + columns[None, :])
    state = tl.zeros((N,), tl.float32)
    for i, row in enumerate(x):
        state = 0.5 * state + row
        tl.store(out_ptr + i * N + columns, state)


@pytest.mark.parametrize("shape, num_warps", [((8, 64), 4), ((32, 32), 1)], ids=str)
def test_issue_2891_a_recurrence_over_rows(device, shape, num_warps):
    M, N = shape
    x = random(shape, "fp32", seed=8)
    out = device.output(shape, "fp32")
    scan_rows_kernel[(1,)](out.array, device.to(x), M, N, num_warps=num_warps)
    state, expected = np.zeros(N), []
    for row in x:
        state = 0.5 * state + row
        expected.append(state)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-6)
