"""Integer arithmetic and masks at the ends of the integers, against Python's integers."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES

BITS = {"i32": 32, "u32": 32, "i64": 64, "u64": 64}


def borders(dtype):
    bits = BITS[dtype]
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    near = {low, low + 1, low + 2, high - 1, high, 0, 1, 2, 3, 7, 64, 1000}
    near |= {-1, -2, -3, -64, -7} if low < 0 else set()
    near |= {v + d for v in (2**30, 2**31, 2**32, 2**62, 2**63) for d in (-1, 0, 1)}
    return sorted(v for v in near if low <= v <= high)


def wrap(value, dtype):
    bits = BITS[dtype]
    value %= 2**bits
    return value - 2**bits if dtype[0] == "i" and value >= 2 ** (bits - 1) else value


def cut(x, y):
    """The quotient as C's, which is the language's."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@triton.jit
def divide_kernel(q, r, c, x, y, n, Y: tl.constexpr, SCALAR: tl.constexpr, BLOCK: tl.constexpr):
    if SCALAR:
        i = tl.program_id(0)
        mask = i < n
    else:
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
    a = tl.load(x + i, mask=mask, other=5)
    if Y is None:
        b = tl.load(y + i, mask=mask, other=3)
    else:
        b = tl.full([], Y, x.dtype.element_ty)
    tl.store(q + i, a // b, mask=mask)
    tl.store(r + i, a % b, mask=mask)
    tl.store(c + i, tl.cdiv(a, b), mask=mask)


@pytest.mark.parametrize("is_scalar", [False, True], ids=["tiles", "scalars"])
@pytest.mark.parametrize(
    "dtype, by",
    [
        (dtype, by)
        for dtype in BITS
        for by in (None, 1, 3, 64, 1000, 2**31, -1, -3, -64, -(2**31))
        if by is None or wrap(by, dtype) == by
    ],
)
def test_divisions(device, dtype, by, is_scalar):
    """Quotients and remainders at the borders are those of C."""
    numbers = borders(dtype)
    divisors = [v for v in numbers if v] if by is None else [by]
    least = wrap(2 ** (BITS[dtype] - 1), dtype)
    pairs = [(x, y) for x in numbers for y in divisors if (x, y) != (least, -1)]
    x, y = (np.array(column, DTYPES[dtype]) for column in zip(*pairs))
    outs = [device.output((len(pairs),), dtype) for _ in range(3)]
    divide_kernel[(len(pairs) if is_scalar else -(-len(pairs) // 128),)](
        *(out.array for out in outs), device.to(x), device.to(y), len(pairs),
        Y=by, SCALAR=is_scalar, BLOCK=128,
    )  # fmt: skip
    quotients = [cut(x, y) for x, y in pairs]
    rounded = [wrap(cut(wrap(x + wrap(y - 1, dtype), dtype), y), dtype) for x, y in pairs]
    expected = [quotients, [x - q * y for (x, y), q in zip(pairs, quotients)], rounded]
    for out, wanted in zip(outs, expected):
        np.testing.assert_array_equal(out.numpy(), np.array(wanted, DTYPES[dtype]))


@triton.jit
def mask_kernel(out, x, start, stop, step, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    i = start.to(DTYPE) + (k * step).to(DTYPE)
    low = tl.load(x + k, mask=i < stop.to(DTYPE), other=-1)
    high = tl.load(x + k, mask=stop.to(DTYPE) > i, other=-1)
    upto = tl.load(x + k, mask=i <= stop.to(DTYPE), other=-1)
    back = tl.load(x + k, mask=~(i >= stop.to(DTYPE)), other=-1)
    tl.store(out + k, low)
    tl.store(out + BLOCK + k, high)
    tl.store(out + 2 * BLOCK + k, upto)
    tl.store(out + 3 * BLOCK + k, back)


@pytest.mark.parametrize(
    "dtype, start, stop, step",
    [
        ("i32", 2**31 - 128, 2**31 - 70, 1),
        ("i32", 2**31 - 128, 2**31 - 64, 1),
        ("i32", 2**31 - 64, 2**31 - 1, 1),  # wraps around within the tile
        ("i32", 2**31 - 61, 5, 1),
        ("i32", -(2**31), -(2**31) + 32, 1),
        ("u32", 2**31 - 64, 2**31 + 16, 1),
        ("u32", 2**32 - 64, 2**32 - 1, 1),
        ("i64", 2**31 - 64, 2**31 + 16, 1),
        ("i64", 2**32 - 64, 2**32 + 5, 1),
        ("i64", -(2**32) - 64, -(2**32), 1),
        ("i64", 3 * 2**32, 3 * 2**32 + 32, 1),
        ("i64", 2**40, 2**40 + 2**20, 2**14),
        ("u64", 2**63 - 64, 2**63 + 7, 1),
    ],
)
def test_masks(device, dtype, start, stop, step):
    """Comparisons that wrap at the ends of a type mask what Python's do."""
    block = 128
    x = np.random.default_rng(1).integers(0, 100, block).astype(np.int32)
    out = device.output((4, block), "i32")
    names = {"i32": tl.int32, "u32": tl.uint32, "i64": tl.int64, "u64": tl.uint64}
    mask_kernel[(1,)](
        out.array, device.to(x), start, stop, step, DTYPE=names[dtype], BLOCK=block
    )  # fmt: skip
    counted = [wrap(start + k * step, dtype) for k in range(block)]
    below = np.where([i < stop for i in counted], x, -1)
    upto = np.where([i <= stop for i in counted], x, -1)
    np.testing.assert_array_equal(out.numpy(), [below, below, upto, below])


@triton.jit
def counter_kernel(out, x, stop, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    number = 0
    for i in tl.range(tl.full([], 0, tl.uint32), stop.to(tl.uint32), 2**30):
        first = i.to(tl.int32)
        tl.store(out + number * BLOCK + k, tl.load(x + (first + k) // 128 - first // 128))
        number += 1


def test_counters_as_signed_numbers(device):
    """A counter of 32 unsigned bits is negative as a signed number, and its quotients are cut towards zero."""
    block, x = 512, np.random.default_rng(1).integers(0, 100, 33).astype(np.int32)
    out = device.output((4, block), "i32")
    counter_kernel[(1,)](out.array, device.to(x), 2**32 - 1, BLOCK=block, num_warps=1)
    firsts = [wrap(i * 2**30, "i32") for i in range(4)]
    places = [[cut(first + k, 128) - cut(first, 128) for k in range(block)] for first in firsts]
    np.testing.assert_array_equal(out.numpy(), x[np.array(places)])


BIG: tl.constexpr = tl.constexpr(2**64 - 6)


@triton.jit
def constant_kernel(out, seed, A: tl.constexpr):
    tl.store(out, tl.full([], A, tl.uint64) // 3)
    tl.store(out + 1, A)
    tl.store(out + 2, A > 5)
    tl.store(out + 3, A // 3)
    tl.store(out + 4, seed ^ A)
    tl.store(out + 5, (A + BIG) // 4)


@pytest.mark.parametrize("constant", [2**40, 2**63 - 1, 2**63, 2**64 - 1])
def test_constants(device, constant):
    """Constants of kernels and of modules that only unsigned numbers of 64 bits hold."""
    seed, out = 2**63 + 12345, device.output((6,), "u64")
    constant_kernel[(1,)](out.array, seed, A=constant)
    expected = [
        constant // 3, constant, 1, constant // 3, seed ^ constant, (constant + 2**64 - 6) // 4,
    ]  # fmt: skip
    assert [int(v) for v in out.numpy()] == expected
