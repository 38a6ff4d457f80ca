"""Hints on values, and device assertions and prints with several operands."""

import re

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def split_hint_kernel(out_ptr, x_ptr, index_ptr, N: tl.constexpr):
    """The promise about one half says nothing of the other."""
    pairs = tl.reshape(tl.load(index_ptr + tl.arange(0, 2 * N)), (N, 2))
    even, odd = tl.split(pairs)
    even = tl.max_contiguous(tl.multiple_of(even, N), N)
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + even))
    tl.store(out_ptr + N + offsets, tl.load(x_ptr + odd))


def test_a_hint_on_one_half_of_a_split(device):
    n = 128
    x = random(4 * n, "fp32", seed=101)
    odd = np.random.default_rng(102).permutation(4 * n)[:n]
    index = np.stack([n + np.arange(n), odd], 1).astype(np.int32).ravel()
    out = device.output(2 * n, "fp32")
    split_hint_kernel[(1,)](out.array, device.to(x), device.to(index), n)
    np.testing.assert_array_equal(out.numpy(), np.concatenate([x[n : 2 * n], x[odd]]))


@triton.jit
def long_hint_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    """The run that is promised is longer than the row, which is then repeated."""
    columns = tl.max_contiguous(tl.multiple_of(tl.arange(0, N), 256), 256)
    block = tl.broadcast_to(columns[None, :], (M, N))
    x = tl.load(x_ptr + block)
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], x)


def test_a_promise_longer_than_the_tile(device):
    x = random(4, "fp16", seed=103)
    out = device.output((64, 4), "fp16")
    long_hint_kernel[(1,)](out.array, device.to(x), 64, 4)
    np.testing.assert_array_equal(out.numpy(), np.broadcast_to(x, (64, 4)))


@triton.jit
def lists_kernel(out_ptr, x_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    stride = tl.multiple_of(stride, 8)
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    offsets = tl.multiple_of(rows * stride + columns, [8, 8])
    offsets = tl.max_contiguous(offsets, (1, N))
    same = tl.max_constancy(rows // 4 + 0 * columns, [4, N])
    tl.store(out_ptr + rows * N + columns, tl.load(x_ptr + offsets) + same)


def test_lists_of_values(device):
    x = random((16, 40), "i32", seed=104)
    out = device.output((16, 32), "i32")
    lists_kernel[(1,)](out.array, device.to(x), 40, 16, 32)
    np.testing.assert_array_equal(out.numpy(), x[:, :32] + np.arange(16)[:, None] // 4)


@triton.jit
def wrong_length_kernel(x_ptr):
    tl.store(x_ptr + tl.multiple_of(tl.arange(0, 16), [4, 4]), 0)


def test_one_value_a_dimension():
    with pytest.raises(triton.CompilationError, match="takes a value a dimension: 1, got 2"):
        wrong_length_kernel[(1,)](np.zeros(16, np.int32))


@triton.jit
def print_kernel(x_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.device_print("two", x, x.to(tl.float32) / 2)
    tl.device_print("hex", x, hex=True)


def test_print_of_several_operands(device, capfd):
    x = random((2, 4), "i32", seed=105)
    print_kernel[(2,)](device.to(x), 2, 4, num_warps=1)
    if device.on_gpu:
        device.torch.cuda.synchronize()
    lines = sorted(line for line in capfd.readouterr().out.splitlines() if line.startswith("pid"))
    expected = []
    for pid in range(2):
        for (i, j), value in np.ndenumerate(x):
            head = f"pid ({pid}, 0, 0) idx ({i}, {j})"
            expected.append(f"{head} two: (operand 0) {value}")
            expected.append(f"{head} two: (operand 1) {value / 2:f}")
            expected.append(f"{head} hex: 0x{int(value) & 0xFFFFFFFF:08x}")
    assert lines == sorted(expected)


@triton.jit
def assert_kernel(x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.device_assert(x > 0, "all are positive", mask=x != -1)


def test_assertions_hold_where_the_mask_does(device):
    x = random(64, "i32", seed=106, low=1, high=50)
    x[7] = -1
    assert_kernel[(1,)](device.to(x), 64, debug=True)
    if device.on_gpu:
        device.torch.cuda.synchronize()


def test_a_failed_assertion_names_its_line():
    x = random(64, "i32", seed=107, low=1, high=50)
    x[9] = -2
    assert_kernel[(1,)](x, 64)
    with pytest.raises(Exception, match="all are positive") as caught:
        assert_kernel[(1,)](x, 64, debug=True)
    assert re.search(r"tl\.device_assert\(", str(caught.value.rendered))
