"""Integers of which little is possible, such as weights of 4 bits, become 16-bit floats.

Each expression is a way to unpack or to bound a number; every number of a byte goes through it, or
random ones of 16 and 32 bits with those next to the bounds. Conversions round once, to nearest even.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

N = 1024
FLOATS = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}


def expressions(x, bits, to_signed, minimum, maximum, where):
    """The values of all ways for `x`, by the functions of NumPy or of the language."""
    signed = to_signed(x)
    return [
        signed >> (bits - 4),
        to_signed(x << (bits - 4)) >> (bits - 4),
        signed >> 1,
        signed >> 2,
        x & 15,
        (x & 15) - 8,
        to_signed(x & 15) - 8,
        to_signed(x & 127) - 64,
        to_signed(x & 127) - 65,
        to_signed(x & 127) - 63,
        -to_signed(x & 63),
        (x >> 3) & 15,
        minimum(maximum(signed, -9), 100),
        minimum(maximum(signed, -128), -100),
        minimum(maximum(signed, -65), -65),
        minimum(maximum(signed, -64), 63),
        where(signed > 3, to_signed(x & 3), to_signed(x & 7) - 100),
        x,
        signed,
        x >> 1,
        to_signed(x & 1) * 100 - to_signed(x & 1),
        (x & 15) | 64,
        x ^ 85,
    ]


COUNT = 23


@triton.jit
def nth(x, signed, WAY: tl.constexpr, BITS: tl.constexpr, to: tl.constexpr):
    """Expression number WAY of `expressions`."""
    if WAY == 0:
        y = signed >> (BITS - 4)
    elif WAY == 1:
        y = (x << (BITS - 4)).to(to) >> (BITS - 4)
    elif WAY == 2:
        y = signed >> 1
    elif WAY == 3:
        y = signed >> 2
    elif WAY == 4:
        y = x & 15
    elif WAY == 5:
        y = (x & 15) - 8
    elif WAY == 6:
        y = (x & 15).to(to) - 8
    elif WAY == 7:
        y = (x & 127).to(to) - 64
    elif WAY == 8:
        y = (x & 127).to(to) - 65
    elif WAY == 9:
        y = (x & 127).to(to) - 63
    elif WAY == 10:
        y = -(x & 63).to(to)
    elif WAY == 11:
        y = (x >> 3) & 15
    elif WAY == 12:
        y = tl.minimum(tl.maximum(signed, -9), 100)
    elif WAY == 13:
        y = tl.minimum(tl.maximum(signed, -128), -100)
    elif WAY == 14:
        y = tl.minimum(tl.maximum(signed, -65), -65)
    elif WAY == 15:
        y = tl.minimum(tl.maximum(signed, -64), 63)
    elif WAY == 16:
        y = tl.where(signed > 3, (x & 3).to(to), (x & 7).to(to) - 100)
    elif WAY == 17:
        y = x
    elif WAY == 18:
        y = signed
    elif WAY == 19:
        y = x >> 1
    elif WAY == 20:
        y = (x & 1).to(to) * 100 - (x & 1).to(to)
    elif WAY == 21:
        y = (x & 15) | 64
    else:
        y = x ^ 85
    return y


@triton.jit
def convert(
    X, Floats, Rows, Joined, WAY: tl.constexpr, BITS: tl.constexpr, to: tl.constexpr,
    N: tl.constexpr,
):  # fmt: skip
    """To floats at once, after a broadcast to rows, and joined with another expression."""
    at = tl.arange(0, N)
    x = tl.load(X + at)
    y = nth(x, x.to(to), WAY, BITS, to)
    tl.store(Floats + at, y.to(Floats.dtype.element_ty))
    row, column = tl.arange(0, 4), tl.arange(0, N // 4)
    first = tl.load(X + column)
    part = nth(first, first.to(to), WAY, BITS, to)
    wide = tl.broadcast_to(part[None, :], (4, N // 4))
    tl.store(Rows + row[:, None] * (N // 4) + column[None, :], wide.to(Rows.dtype.element_ty))
    pair = tl.join(y, x.to(y.dtype) & 15)
    tl.store(Joined + at[:, None] * 2 + tl.arange(0, 2)[None, :], pair.to(Joined.dtype.element_ty))


def numbers(bits, seed):
    """All bytes, four times in another order, or random numbers with those next to powers of two."""
    rng = np.random.default_rng(seed)
    if bits == 8:
        return np.concatenate([rng.permutation(256) for _ in range(N // 256)]).astype(np.uint8)
    unsigned = np.uint16 if bits == 16 else np.uint32
    drawn = rng.integers(0, 1 << bits, N, dtype=np.uint64)
    near = np.array([(s << e) + d for e in range(bits) for s in (1, -1) for d in (-1, 0, 1)])
    drawn[: len(near)] = near.astype(np.int64).view(np.uint64) & np.uint64((1 << bits) - 1)
    drawn[len(near) : 512] = rng.integers(0, 1024, 512 - len(near))
    return rng.permutation(drawn).astype(unsigned)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("stored", ["u8", "i8", "u16", "i16", "u32", "i32"])
@pytest.mark.parametrize("way", range(COUNT))
def test_bounded_integers(device, way, stored, dtype):
    bits, to_float = int(stored[1:]), FLOATS[dtype]
    signed = np.dtype(f"i{bits // 8}")
    x = numbers(bits, way).view(np.dtype(f"{stored[0]}{bits // 8}"))
    with np.errstate(over="ignore"):  # integers of NumPy warn, and wrap around as well
        ways = expressions(
            x, bits, lambda v: v.astype(signed), np.minimum, np.maximum, np.where
        )  # fmt: skip
    assert len(ways) == COUNT
    outs = [device.output(size, dtype) for size in (N, (4, N // 4), (N, 2))]
    to = {8: tl.int8, 16: tl.int16, 32: tl.int32}[bits]
    convert[(1,)](device.to(x), *(out.array for out in outs), way, bits, to, N)
    y = ways[way]
    low = (x.astype(y.dtype) & 15).astype(y.dtype)

    def rounded(v):
        with np.errstate(over="ignore"):  # to infinity, as it must
            return v.astype(np.float32).astype(to_float) if bits < 32 else direct(v, to_float)

    for out, want in zip(outs, (y, np.tile(y[: N // 4], (4, 1)), np.stack([y, low], 1))):
        np.testing.assert_array_equal(
            out.numpy().astype(np.float64), rounded(want).astype(np.float64)
        )


def direct(v, to_float):
    """Rounded once: NumPy's conversion of 32-bit integers to fp64 is exact, and so to odd in between."""
    wide = v.astype(np.float64)
    if to_float is not ml_dtypes.bfloat16:
        return wide.astype(to_float)
    single = wide.astype(np.float32)
    bits = single.view(np.uint32).copy()
    away = np.abs(single.astype(np.float64)) > np.abs(wide)
    bits[away] -= 1
    bits[single.astype(np.float64) != wide] |= 1
    return bits.view(np.float32).astype(to_float)


@triton.jit
def unpack_gptq(Packed, Zeros, Out, K: tl.constexpr, N: tl.constexpr):
    """Eight weights of 4 bits a word along K, less zeros of 4 bits, as GPTQ stores them."""
    k, n = tl.arange(0, K), tl.arange(0, N)
    words = tl.load(Packed + (k // 8)[:, None] * N + n[None, :])
    zeros = (tl.load(Zeros + n // 8) >> ((n % 8) * 4)) & 0xF
    weights = ((words >> ((k % 8) * 4)[:, None]) & 0xF) - (zeros + 1)[None, :]
    tl.store(Out + k[:, None] * N + n[None, :], weights.to(Out.dtype.element_ty))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_weights_of_words(device, dtype, warps):
    K, N = 64, 32
    packed, zeros = random((K // 8, N), "i32", 1), random(N // 8, "i32", 2)
    out = device.output((K, N), dtype)
    unpack_gptq[(1,)](device.to(packed), device.to(zeros), out.array, K, N, num_warps=warps)
    shifts = 4 * np.arange(8, dtype=np.int64)
    q = (packed.astype(np.int64)[:, None] >> shifts[:, None]) & 15
    z = ((zeros.astype(np.int64)[:, None] >> shifts) & 15).reshape(-1)
    np.testing.assert_array_equal(out.numpy().astype(np.float64), q.reshape(K, N) - (z + 1.0))


@triton.jit
def divide(X, Y, Quotients, Rest, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(X + at), tl.load(Y + at, mask=at % 3 != 1, other=0)
    tl.store(Quotients + at, (x // y).to(Quotients.dtype.element_ty), mask=at % 3 != 1)
    tl.store(Rest + at, x % y, mask=at % 3 != 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("stored", ["u8", "i8", "u16", "i16"])
@pytest.mark.parametrize("warps", [1, 4])
def test_divisors_that_are_masked(device, stored, dtype, warps):
    """An element that is divided by zero, whose result is not stored, leaves its neighbours alone."""
    x, y = random(256, stored, 1, low=0, high=100), random(256, stored, 2, low=1, high=9)
    quotients, rest = device.output(256, dtype), device.output(256, stored)
    at = np.arange(256) % 3 != 1
    divide[(1,)](device.to(x), device.to(y), quotients.array, rest.array, 256, num_warps=warps)
    np.testing.assert_array_equal(quotients.numpy().astype(np.float64)[at], (x // y)[at])
    np.testing.assert_array_equal(rest.numpy()[at], (x % y)[at])
