"""Functions of scalars on every element, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def compare(a, b):
    if a < b:
        result = -1
    elif a == b:
        result = 0
    else:
        result = 1
    return result


@triton.jit
def compare_kernel(out_ptr, a_ptr, b_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a, b = tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)
    tl.store(out_ptr + offsets, tl.map_elementwise(compare, a, b))


@pytest.mark.parametrize("n", [16, 512])
def test_branches(device, n):
    """A function of scalars with branches runs for each element."""
    a, b = (random(n, "i32", seed=seed, low=0, high=4) for seed in (31, 32))
    out = device.output(n, "i32")
    compare_kernel[(1,)](out.array, device.to(a), device.to(b), n)
    np.testing.assert_array_equal(out.numpy(), np.sign(a - b))


@triton.jit
def steps_to_one(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@triton.jit
def loop_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    steps = tl.map_elementwise(steps_to_one, tl.load(x_ptr + offsets))
    tl.store(out_ptr + offsets, steps)
    tl.store(out_ptr + M * N, tl.sum(steps))


@pytest.mark.parametrize("num_warps", [1, 4])
def test_loops_of_different_lengths(device, num_warps):
    x = random((4, 32), "i32", seed=33, low=1, high=100)

    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    expected = np.vectorize(steps)(x).ravel()
    out = device.output(x.size + 1, "i32")
    loop_kernel[(1,)](out.array, device.to(x), 4, 32, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), np.append(expected, expected.sum()))


@triton.jit
def divide(a, b):
    return a // b, a % b, a.to(tl.float32) / b


@triton.jit
def several_kernel(q_ptr, r_ptr, f_ptr, a_ptr, b_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a = tl.load(a_ptr + offsets)
    q, r, f = tl.map_elementwise(divide, a, tl.load(b_ptr))
    tl.store(q_ptr + offsets, q)
    tl.store(r_ptr + offsets, r)
    tl.store(f_ptr + offsets, f)


def test_several_results_and_a_scalar_argument(device):
    a, b = random(128, "i32", seed=34, low=0, high=1000), np.array([7], np.int32)
    outs = [device.output(128, dtype) for dtype in ("i32", "i32", "fp32")]
    several_kernel[(1,)](*(out.array for out in outs), device.to(a), device.to(b), 128)
    np.testing.assert_array_equal(outs[0].numpy(), a // 7)
    np.testing.assert_array_equal(outs[1].numpy(), a % 7)
    np.testing.assert_allclose(outs[2].numpy(), a / 7.0, rtol=1e-6)


@triton.jit
def neighbours(a, b):
    low = a
    if b < a:
        low = b
    return low, a + b


@triton.jit
def pack_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.map_elementwise(neighbours, tl.load(x_ptr + offsets), pack=2))


@pytest.mark.parametrize("n", [4, 64, 1024])
def test_pack(device, n):
    """A function of two neighbours returns both."""
    x = random(n, "i32", seed=35)
    out = device.output(n, "i32")
    pack_kernel[(1,)](out.array, device.to(x), n)
    pairs = x.reshape(-1, 2)
    expected = np.stack([pairs.min(1), pairs.sum(1)], 1).ravel()
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def returns_a_tile(a):
    return tl.zeros((4,), tl.int32)


@triton.jit
def wrong_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, 4), tl.map_elementwise(returns_a_tile, tl.arange(0, 4)))


def test_a_function_that_returns_a_tile_is_refused():
    with pytest.raises(triton.CompilationError, match="must return scalars"):
        wrong_kernel[(1,)](np.zeros(4, np.int32))
