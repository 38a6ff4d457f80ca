"""Integer arithmetic on tiles of bytes, which GPU code does four bytes at a time: every pair of bytes, wrapped around, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

BYTES = ["i8", "u8"]


@triton.jit
def two_tiles_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    if OP == "+":
        z = x + y
    elif OP == "-":
        z = x - y
    elif OP == "&":
        z = x & y
    elif OP == "|":
        z = x | y
    else:
        z = x ^ y
    tl.store(out_ptr + at, z)


PAIRS = {
    "+": np.add,
    "-": np.subtract,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("op", PAIRS)
def test_every_pair_of_bytes(device, dtype, op):
    numpy = np.dtype({"i8": np.int8, "u8": np.uint8}[dtype])
    both = np.arange(65536, dtype=np.uint32)
    x, y = (both >> 8).astype(np.uint8).view(numpy), both.astype(np.uint8).view(numpy)
    out = device.output(x.size, dtype)
    two_tiles_kernel[(32,)](out.array, device.to(x), device.to(y), 2048, op)
    np.testing.assert_array_equal(out.numpy(), PAIRS[op](x, y))


@triton.jit
def constant_kernel(out_ptr, x_ptr, N: tl.constexpr, OP: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at, mask=at < N)
    if OP == "<<":
        z = x << C
    elif OP == ">>":
        z = x >> C
    elif OP == "-":
        z = x - C
    elif OP == "C-":
        z = C - x
    else:
        z = (x & C) ^ 3 | 64
    tl.store(out_ptr + at, z.to(x.dtype), mask=at < N)


def by_constant(op, x, c):
    """The same in NumPy; a shift by eight or more leaves zeros or the sign."""
    wide = x.astype(np.int64)
    if op == "<<":
        return (wide << c).astype(x.dtype)
    if op == ">>":
        return (wide >> c).astype(x.dtype)
    if op == "-":
        return (wide - c).astype(x.dtype)
    if op == "C-":
        return (c - wide).astype(x.dtype)
    return ((wide & c) ^ 3 | 64).astype(x.dtype)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize(
    "op, constant",
    [*(("<<", c) for c in (0, 1, 4, 7)), *((">>", c) for c in (0, 1, 3, 4, 7))]
    + [("-", 8), ("-", 100), ("C-", 5), ("&", 15), ("&", 112)],
)
@pytest.mark.parametrize("size", [256, 1000])
def test_a_constant_and_every_byte(device, dtype, op, constant, size):
    x = (np.arange(size) % 256).astype(np.uint8).view({"i8": np.int8, "u8": np.uint8}[dtype])
    out = device.output(size, dtype)
    constant_kernel[(1,)](out.array, device.to(x), size, op, constant)
    np.testing.assert_array_equal(out.numpy(), by_constant(op, x, constant))


@triton.jit
def amounts_kernel(out_ptr, x_ptr, amount_ptr, N: tl.constexpr, LEFT: tl.constexpr):
    at = tl.arange(0, N)
    x, amount = tl.load(x_ptr + at), tl.load(amount_ptr + at)
    tl.store(out_ptr + at, x << amount if LEFT else x >> amount)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("left", [True, False])
def test_amounts_that_differ(device, dtype, left):
    """The bytes of a word are shifted by amounts of their own."""
    numpy = {"i8": np.int8, "u8": np.uint8}[dtype]
    x = np.repeat(np.arange(256), 8).astype(np.uint8).view(numpy)
    amounts = np.tile(np.arange(8), 256).astype(numpy)
    out = device.output(x.size, dtype)
    amounts_kernel[(1,)](out.array, device.to(x), device.to(amounts), x.size, left)
    wide = x.astype(np.int64) << amounts if left else x.astype(np.int64) >> amounts
    np.testing.assert_array_equal(out.numpy(), wide.astype(numpy))


@triton.jit
def nibbles_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, SIGNED: tl.constexpr):
    """(M, N) bytes to (2 M, N) numbers, the low nibbles of a row before its high ones."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :])
    if SIGNED:
        low, high = (x << 4).to(tl.int8) >> 4, x.to(tl.int8) >> 4
    else:
        low, high = x & 15, x >> 4
    to = out_ptr.dtype.element_ty
    both = tl.permute(tl.join(low.to(to), high.to(to)), (0, 2, 1))
    rows = tl.arange(0, 2 * M)
    tl.store(out_ptr + rows[:, None] * N + c[None, :], tl.reshape(both, (2 * M, N)))


@pytest.mark.parametrize("to", ["fp16", "bf16", "fp32", "i8", "i32"])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("shape", [(64, 64), (16, 256), (8, 4), (128, 16)])
def test_nibbles(device, to, signed, shape):
    """Both halves of each byte, taken apart, converted and joined in pairs of rows."""
    x = random(shape, "u8", seed=hash((to, signed, shape)) % 2**31)
    low, high = (x & 15).astype(np.int32), (x >> 4).astype(np.int32)
    if signed:
        low, high = (low ^ 8) - 8, (high ^ 8) - 8
    wanted = np.stack([low, high], 1).reshape(2 * shape[0], shape[1])
    out = device.output(wanted.size, to)
    nibbles_kernel[(1,)](out.array, device.to(x), *shape, signed)
    np.testing.assert_array_equal(out.numpy().astype(np.int32).reshape(wanted.shape), wanted)


@triton.jit
def widened_kernel(out_ptr, x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, (tl.load(x_ptr + at) ^ 85).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("to", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("dtype", BYTES)
def test_every_byte_as_a_float(device, dtype, to):
    x = np.arange(256).astype(np.uint8).view({"i8": np.int8, "u8": np.uint8}[dtype])
    out = device.output(256, to)
    widened_kernel[(1,)](out.array, device.to(x), 256)
    np.testing.assert_array_equal(out.numpy().astype(np.float32), (x ^ 85).astype(np.float32))
