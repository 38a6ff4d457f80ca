"""Kernels that tests of extents and of numbers of warps share, each compared with NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
from device_arrays import random


@triton.jit
def add_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2 + tl.load(y_ptr + at))


@triton.jit
def masked_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at, mask=at < n, other=7.0)
    tl.store(out_ptr + at, x + 1.0)


def check_masked_load(device, length, num_warps):
    """Three programs, of which the last reads beyond the end, where 7 stands."""
    n = 2 * length + length // 3
    x = random(n, "fp32", seed=3)
    out = device.output(3 * length, "fp32")
    masked_kernel[(3,)](out.array, device.to(x), n, length, num_warps=num_warps)
    expected = np.concatenate([x, np.full(3 * length - n, 7.0, np.float32)]) + np.float32(1)
    assert out.numpy().tobytes() == expected.tobytes()


@triton.jit
def reduce_kernel(sums, most, where, x_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, N if AXIS == 0 else M)
    tl.store(sums + at, tl.sum(x, AXIS))
    tl.store(most + at, tl.max(x, AXIS))
    tl.store(where + at, tl.argmin(x, AXIS))


def check_reduction(device, shape, axis, num_warps):
    """Sums, maxima and places of minima along an axis."""
    x = np.round(random(shape, "fp32", seed=4) * 8)
    kept = shape[1 - axis]
    sums, most = device.output(kept, "fp32"), device.output(kept, "fp32")
    where = device.output(kept, "i32")
    reduce_kernel[(1,)](
        sums.array, most.array, where.array, device.to(x), *shape, axis, num_warps=num_warps
    )
    np.testing.assert_array_equal(sums.numpy(), x.sum(axis))
    np.testing.assert_array_equal(most.numpy(), x.max(axis))
    np.testing.assert_array_equal(where.numpy(), x.argmin(axis))


@triton.jit
def multiply(a, b, c, d):
    """Complex numbers."""
    return a * c - b * d, a * d + b * c


@triton.jit
def product_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.reduce((tl.load(x_ptr + at), tl.load(y_ptr + at)), 0, multiply)
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)


def check_reduction_of_pairs(device, length, num_warps):
    """A product of complex numbers, which no order of the elements changes."""
    x, y = random(length, "i32", seed=5) | 1, random(length, "i32", seed=6) & ~1
    out = device.output(2, "i32")
    product_kernel[(1,)](out.array, device.to(x), device.to(y), length, num_warps=num_warps)
    a, b = 1, 0
    for c, d in zip(x.tolist(), y.tolist()):
        a, b = (a * c - b * d) & 0xFFFFFFFF, (a * d + b * c) & 0xFFFFFFFF
    np.testing.assert_array_equal(out.numpy().view(np.uint32), np.array([a, b], np.uint32))


@triton.jit
def shape_kernel(out_ptr, x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    y = tl.load(y_ptr + tl.arange(0, N))
    if OP == "trans":
        z = tl.trans(x)
    elif OP == "ravel":
        z = tl.ravel(x)
    elif OP == "reshape":
        z = tl.reshape(tl.trans(x), (M, N))
    elif OP == "broadcast":
        z = tl.where(x > y[None, :], x, tl.broadcast_to(y[None, :], (M, N)))
    elif OP == "join":
        z = tl.join(x, x * 2)
    elif OP == "split":
        a, b = tl.split(tl.reshape(x, (M, N // 2, 2)))
        z = a - b
    flat = tl.ravel(z)
    tl.store(out_ptr + tl.arange(0, flat.shape[0]), flat)


CHANGES_OF_SHAPE = {
    "trans": lambda x, y: x.T,
    "ravel": lambda x, y: x,
    "reshape": lambda x, y: x.T,
    "broadcast": lambda x, y: np.where(x > y, x, y),
    "join": lambda x, y: np.stack([x, x * 2], -1),
    "split": lambda x, y: x[:, ::2] - x[:, 1::2],
}


def check_change_of_shape(device, shape, op, num_warps):
    """A change of shape moves every element as NumPy does."""
    x, y = random(shape, "fp32", seed=8), random(shape[1], "fp32", seed=9)
    expected = np.ascontiguousarray(CHANGES_OF_SHAPE[op](x, y)).reshape(-1)
    out = device.output(expected.size, "fp32")
    shape_kernel[(1,)](out.array, device.to(x), device.to(y), *shape, op, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def scan_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr,
                REVERSE: tl.constexpr):  # fmt: skip
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), AXIS, reverse=REVERSE))


def check_scan(device, shape, axis, reverse, num_warps):
    """Prefix sums along an axis, from its end if `reverse`."""
    x = random(shape, "i32", seed=10)
    out = device.output(shape, "i32")
    scan_kernel[(1,)](out.array, device.to(x), *shape, axis, reverse, num_warps=num_warps)
    given = np.flip(x, axis) if reverse else x
    expected = given.cumsum(axis, dtype=np.int32)
    np.testing.assert_array_equal(out.numpy(), np.flip(expected, axis) if reverse else expected)
