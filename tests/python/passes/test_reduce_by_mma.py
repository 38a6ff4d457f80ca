"""Running row sums of what a dot's left operand has in 16 bits, which an MMA with ones computes:
whole numbers, so that every sum is exact."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def add_up(total, other, acc, x, y_ptrs, begin, end, limit, KIND: tl.constexpr):
    for i in range(begin, end):
        y = tl.load(y_ptrs + i * x.shape[1] * x.shape[1])
        product = tl.dot(x, y)
        rounded = tl.where(product > limit, float("inf"), product).to(x.dtype)
        if KIND == "scaled":
            total = total * 0.5 + tl.sum(rounded.to(tl.float32), 1)
        else:
            total += tl.sum(rounded.to(tl.float32), 1)
        if KIND == "read":
            other += total
        elif KIND == "two":
            other = other * 2 + tl.sum(rounded.to(tl.float32), 1)
        elif KIND == "columns":
            other += tl.sum(rounded.to(tl.float32), 0)
        elif KIND == "unrounded":
            other += tl.sum(product, 1)
        acc = tl.dot(rounded, y, acc)
    return total, other, acc


@triton.jit
def late_factor_kernel(x_ptr, y_ptr, factors_ptr, total_ptr, acc_ptr, count, M: tl.constexpr, N: tl.constexpr, OF: tl.constexpr):  # fmt: skip
    """The factor of the running sum is loaded, or computed from the result, after the dot."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :])
    total, acc = tl.zeros((M,), tl.float32), tl.zeros((M, N), tl.float32)
    for i in range(0, count):
        y = tl.load(y_ptr + i * N * N + cols[:, None] * N + cols[None, :])
        rounded = tl.dot(x, y).to(x.dtype)
        acc = tl.dot(rounded, y, acc)
        if OF == "vector":
            factor = tl.load(factors_ptr + i * M + rows)
        elif OF == "scalar":
            factor = tl.load(factors_ptr + i * M)
        else:
            factor = tl.where(tl.max(acc, 1) > 0, 0.5, 2.0)
        total = total * factor + tl.sum(rounded.to(tl.float32), 1)
    tl.store(total_ptr + rows, total)
    tl.store(acc_ptr + rows[:, None] * N + cols[None, :], acc)


@triton.jit
def sums_kernel(x_ptr, y_ptr, start_ptr, total_ptr, other_ptr, acc_ptr, middle, end, limit,
                M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr):  # fmt: skip
    """Row sums of x y[i], rounded, from `start` on, in two loops that part at `middle`."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :])
    y_ptrs = y_ptr + cols[:, None] * N + cols[None, :]
    KEPT: tl.constexpr = N if KIND == "columns" else M
    total, other = tl.load(start_ptr + rows), tl.zeros((KEPT,), tl.float32)
    acc = tl.zeros((M, N), tl.float32)
    total, other, acc = add_up(total, other, acc, x, y_ptrs, 0, middle, limit, KIND)
    total, other, acc = add_up(total, other, acc, x, y_ptrs, middle, end, limit, KIND)
    tl.store(total_ptr + rows, total)
    tl.store(other_ptr + tl.arange(0, KEPT), other)
    tl.store(acc_ptr + rows[:, None] * N + cols[None, :], acc)


def expected(x, y, start, limit, dtype, kind):
    """`total`, `other` and `acc` in float64."""
    total, other, acc = start.astype(np.float64), 0.0, 0.0
    for each in y.astype(np.float64):
        product = x.astype(np.float64) @ each
        rounded = (
            np.where(product > limit, np.inf, product).astype(DTYPES[dtype]).astype(np.float64)
        )
        total = (total * 0.5 if kind == "scaled" else total) + rounded.sum(axis=1)
        if kind == "read":
            other = other + total
        elif kind == "two":
            other = other * 2 + rounded.sum(axis=1)
        elif kind == "columns":
            other = other + rounded.sum(axis=0)
        elif kind == "unrounded":
            other = other + product.sum(axis=1)
        with np.errstate(invalid="ignore"):
            acc = acc + rounded @ each
    return total, other, acc


def check(device, kind, *, M, N, dtype="bf16", limit=1e9, middle=1, end=3, **options):
    x, y = random((M, N), "i32", 1, -3, 4), random((end, N, N), "i32", 2, -3, 4)
    start = random((M,), "i32", 3, -50, 50).astype(np.float32) * 8
    x, y = x.astype(DTYPES[dtype]), y.astype(DTYPES[dtype])
    total = device.output((M,), "fp32")
    other = device.output((N if kind == "columns" else M,), "fp32")
    acc = device.output((M, N), "fp32")
    sums_kernel[(1,)](
        device.to(x), device.to(y), device.to(start), total.array, other.array, acc.array, middle, end,
        float(limit), M=M, N=N, KIND=kind, **options,
    )  # fmt: skip
    exact = expected(x, y, start, limit, dtype, kind)
    np.testing.assert_array_equal(total.numpy(), exact[0])
    np.testing.assert_array_equal(other.numpy(), np.broadcast_to(exact[1], other.numpy().shape))
    np.testing.assert_array_equal(acc.numpy(), exact[2])


@pytest.mark.parametrize("M,N,warps", [(64, 64, 4), (128, 32, 4), (128, 64, 8), (192, 64, 12), (64, 64, 8), (32, 32, 4)])  # fmt: skip
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_shapes(device, M, N, warps, dtype):
    """Tiles of one, two and three warp groups, and tiles whose dots run on mma.sync or share rows."""
    check(device, "scaled", M=M, N=N, dtype=dtype, num_warps=warps)


@pytest.mark.parametrize("kind", ["plain", "scaled", "read", "two", "columns", "unrounded"])
@pytest.mark.parametrize("limit", [20, 1e9])
def test_other_readers_of_sums_and_weights(device, kind, limit):
    check(device, kind, M=128, N=32, limit=limit, num_warps=8)


@pytest.mark.parametrize("middle,end", [(0, 1), (1, 1), (2, 4), (0, 5)])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("passes", ["", "nv-specialise-warps", "nv-overlap-iterations"])
def test_any_number_of_iterations(device, middle, end, stages, passes):
    """Of two loops, the second of which begins with the sums of the first."""
    check(
        device, "scaled", M=128, N=64, middle=middle, end=end, num_stages=stages, num_warps=8,
        disabled_passes=passes,
    )  # fmt: skip


@pytest.mark.parametrize("of", ["vector", "scalar", "result"])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_factor_after_the_dot(device, of, count):
    M, N = 128, 64
    x, y = random((M, N), "i32", 1, -3, 4), random((5, N, N), "i32", 2, -3, 4)
    factors = np.exp2(random((5, M), "i32", 3, -1, 2)).astype(np.float32)
    x, y = x.astype(np.float16), y.astype(np.float16)
    total, acc = device.output((M,), "fp32"), device.output((M, N), "fp32")
    late_factor_kernel[(1,)](
        device.to(x), device.to(y), device.to(factors), total.array, acc.array, count, M=M, N=N, OF=of,
        num_warps=8,
    )  # fmt: skip
    sums, exact = np.zeros(M), np.zeros((M, N))
    for each, factor in zip(y[:count].astype(np.float64), factors, strict=False):
        rounded = (x.astype(np.float64) @ each).astype(np.float16).astype(np.float64)
        exact += rounded @ each
        if of == "scalar":
            factor = factor[0]
        elif of == "result":
            factor = np.where(exact.max(1) > 0, 0.5, 2.0)
        sums = sums * factor + rounded.sum(1)
    np.testing.assert_array_equal(total.numpy(), sums)
    np.testing.assert_array_equal(acc.numpy(), exact)
