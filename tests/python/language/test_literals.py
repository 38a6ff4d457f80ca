"""Numbers without a type: what a store, a cast and an operator make of them, as in Triton.

A number that is stored or cast has its literal type first: int32, uint32, int64 or uint64 by range, fp32 or fp64. Integers
wrap around from there. One that is combined with a tile by an operator takes the tile's type and must fit into it.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

INTEGERS = [0, 1, -1, 127, 128, -129, 255, 300, 32768, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
WIDE = [0x100000001, -(2**31) - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]
FLOATS = [0.0, 0.1, -2.5, 3.99, -3.99, 65504.0, 1e-3, 1 / 3]
CLAMPED = [1e30, -1e30, float("inf"), float("-inf"), 1e300]


def wrapped(values, dtype):
    """The lowest bits."""
    kind = np.dtype(DTYPES[dtype])
    bits = np.array([value % 2**64 for value in values], np.uint64)
    return bits.astype(np.dtype(f"u{kind.itemsize}")).view(kind)


@triton.jit
def store_kernel(out_ptr, VALUES: tl.constexpr):
    for i in tl.static_range(len(VALUES)):
        tl.store(out_ptr + i, VALUES[i])


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_stored_integers_wrap(device, dtype):
    values = [*INTEGERS, *WIDE]
    out = device.output(len(values), dtype)
    store_kernel[(1,)](out.array, tuple(values))
    np.testing.assert_array_equal(out.numpy(), wrapped(values, dtype))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_stored_floats_are_single_first(device, dtype):
    out = device.output(len(FLOATS), dtype)
    store_kernel[(1,)](out.array, tuple(FLOATS))
    np.testing.assert_array_equal(out.numpy(), np.array(FLOATS, np.float32).astype(DTYPES[dtype]))


def test_stored_floats_outside_single(device):
    values = (1e300, -1e-200, 1e39)
    out = device.output(3, "fp64")
    store_kernel[(1,)](out.array, values)
    np.testing.assert_array_equal(out.numpy(), values)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_integers_into_floats(device, dtype):
    values = [1, -3, 2049, 16777217, 0xFFFFFFFF, 2**53 + 1, -(2**63), 2**64 - 1]
    if dtype == "fp16":
        values = values[:3]
    out = device.output(len(values), dtype)
    store_kernel[(1,)](out.array, tuple(values))
    expected = [np.int64(v) if v < 2**63 else np.uint64(v) for v in values]
    kind = DTYPES[dtype]
    if dtype == "bf16":  # NumPy has no bf16 that rounds once from 64 bits
        expected = [np.float64(v) for v in expected]
    np.testing.assert_array_equal(out.numpy(), np.array([kind(v) for v in expected]))


@pytest.mark.parametrize("dtype", ["i8", "u16", "i32", "u64"])
def test_floats_into_integers(device, dtype):
    values = [0.9, -0.9, 3.99, 100.5]
    out = device.output(len(values), dtype)
    store_kernel[(1,)](out.array, tuple(values))
    np.testing.assert_array_equal(out.numpy(), np.trunc(values).astype(DTYPES[dtype]))


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64"])
def test_floats_outside_integers_saturate(device, dtype):
    out = device.output(len(CLAMPED), dtype)
    store_kernel[(1,)](out.array, tuple(CLAMPED))
    limits = np.iinfo(DTYPES[dtype])
    expected = [limits.max if value > 0 else limits.min for value in CLAMPED]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, DTYPES[dtype]))


@triton.jit
def other_kernel(out_ptr, x_ptr, n, OTHER: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=OTHER))


@pytest.mark.parametrize(
    "dtype, other", [("i32", 0xFFFFFFFF), ("u32", -1), ("i16", 0x8000), ("u8", -2)]
)
def test_other_of_a_load(device, dtype, other):
    x = random(64, dtype, seed=1)
    out = device.output(64, dtype)
    other_kernel[(1,)](out.array, device.to(x), 40, other, 64)
    expected = np.concatenate([x[:40], np.repeat(wrapped([other], dtype), 24)])
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def atomic_kernel(x_ptr, old_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(old_ptr + offsets, tl.atomic_add(x_ptr + offsets, 0xFFFFFFFF))
    tl.atomic_xor(x_ptr + offsets, 0x80000000)


def test_atomic_operands(device):
    x = random(32, "i32", seed=2)
    changed, old = device.to(x.copy()), device.output(32, "i32")
    atomic_kernel[(1,)](changed, old.array, 32)
    np.testing.assert_array_equal(old.numpy(), x)
    np.testing.assert_array_equal(device.numpy(changed), (x - 1) ^ np.int32(-(2**31)))


@triton.jit
def cast_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    mask = tl.cast(0xFFFF0000, tl.int32)
    tl.static_assert(mask.dtype == tl.int32)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) & mask)


def test_cast_of_a_literal(device):
    x = random(64, "i32", seed=3, low=-(2**31), high=2**31)
    out = device.output(64, "i32")
    cast_kernel[(1,)](out.array, device.to(x), 64)
    np.testing.assert_array_equal(out.numpy(), x & np.int32(-65536))


@triton.jit
def full_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    narrow = tl.full((N,), 300, tl.int8)
    tl.store(out_ptr + offsets, x ^ tl.full((N,), 0xFF00FF00, tl.int32) + narrow)


def test_full_of_a_literal(device):
    x = random(64, "i32", seed=6, low=-(2**31), high=2**31)
    out = device.output(64, "i32")
    full_kernel[(1,)](out.array, device.to(x), 64)
    np.testing.assert_array_equal(out.numpy(), x ^ np.int32(0xFF00FF00 - 2**32 + 44))


@triton.jit
def variable_kernel(out_ptr):
    x = 0xFFFFFFFF
    tl.static_assert(x.dtype == tl.uint32)
    y = 0x1FFFFFFFF
    tl.static_assert(y.dtype == tl.int64)
    z = 2**63
    tl.static_assert(z.dtype == tl.uint64)
    tl.store(out_ptr, x)
    tl.store(out_ptr + 1, y)
    tl.store(out_ptr + 2, z - 5)


def test_variables_of_literals(device):
    out = device.output(3, "i32")
    variable_kernel[(1,)](out.array)
    np.testing.assert_array_equal(out.numpy(), [-1, -1, -5])


@triton.jit
def arithmetic_kernel(out_ptr, less_ptr, x_ptr, u_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    u = tl.load(u_ptr + offsets)
    tl.static_assert((x + 5).dtype == tl.int8)
    tl.static_assert((u - 200).dtype == tl.uint32)
    tl.static_assert((x * 2.0).dtype == tl.float32)
    tl.store(out_ptr + offsets, (u - 0xFFFFFFF0) ^ (x + 5).to(tl.uint32, bitcast=False))
    tl.store(less_ptr + offsets, (u < 0x80000000) & (x >= -3))


def test_literals_take_the_type_of_tiles(device):
    x = random(128, "i8", seed=4)
    u = random(128, "u32", seed=5, high=2**32)
    out, less = device.output(128, "u32"), device.output(128, "i1")
    arithmetic_kernel[(1,)](out.array, less.array, device.to(x), device.to(u), 128)
    sums = (x + np.int8(5)).astype(np.int64).astype(np.uint32)
    np.testing.assert_array_equal(out.numpy(), (u - np.uint32(0xFFFFFFF0)) ^ sums)
    np.testing.assert_array_equal(less.numpy(), (u < 2**31) & (x >= -3))


@triton.jit
def too_large_kernel(p, VALUE: tl.constexpr):
    tl.store(p, tl.load(p) + VALUE)


@pytest.mark.parametrize(
    "dtype, value, message",
    [
        (np.int8, 128, "out of range for type"),
        (np.int32, 0xFFFFFFFF, "out of range for type"),
        (np.uint32, -1, "an unsigned tensor and a negative scalar"),
    ],
)
def test_what_does_not_fit_a_tile(dtype, value, message):
    with pytest.raises(triton.CompilationError, match=message):
        too_large_kernel[(1,)](np.zeros(1, dtype), value)
