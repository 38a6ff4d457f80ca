"""Loads whose addresses repeat, and what is addressed by the values that they give.

Rows of a table by loaded numbers, scales and offsets of a group, packed numbers, and stores of tiles
that were read one by one. What is masked off lies outside the arrays.
"""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from conftest import random

BLOCK = 512


def integers(low, high, shape, dtype):
    return np.random.default_rng().integers(low, high, shape).astype(dtype)


@pantile.jit
def rows_kernel(table_ptr, index_ptr, y_ptr, n, rows, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    index = tl.load(index_ptr + at // WIDTH, mask=mask, other=0)
    index = tl.where(index < 0, index + rows, index)
    x = tl.load(table_ptr + index * WIDTH + at % WIDTH, mask=mask, other=-1.0)
    tl.store(y_ptr + at, x, mask=mask)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "i8"])
@pytest.mark.parametrize("index_type", ["int32", "int64"])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 6, 8, 24, 768])
def test_rows_by_loaded_numbers(device, dtype, index_type, width):
    rows, count = 37, 700 if width < 100 else 3
    table = integers(-128, 128, (rows, width), "int8")
    if dtype != "i8":
        table = random((rows, width), dtype)
    index = integers(-rows, rows, count, index_type)
    y = device.output((count, width), dtype)
    rows_kernel[(pantile.cdiv(y.size, BLOCK),)](
        device.to(table), device.to(index), y.array, y.size, rows, WIDTH=width, BLOCK=BLOCK
    )
    np.testing.assert_array_equal(y.numpy(), table[index])


@pantile.jit
def groups_kernel(x_ptr, scale_ptr, y_ptr, n, shift, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at + shift, mask=mask, other=0.0)
    scale = tl.load(scale_ptr + at // GROUP, mask=mask, other=0.0)
    low = tl.load(scale_ptr + at // GROUP, mask=mask & (at % 2 == 0), other=1.0)
    tl.store(y_ptr + at, x * scale + low, mask=mask)


@pytest.mark.parametrize("shift", [0, 1, 4])
@pytest.mark.parametrize("group", [2, 3, 4, 8, 64])
@pytest.mark.parametrize("n", [4096, 1999])
def test_scales_of_groups(device, group, shift, n):
    x, scale = random((n + shift,), "fp32"), random((-(-n // group),), "fp32")
    y = device.output((n,), "fp32")
    groups_kernel[(pantile.cdiv(n, BLOCK),)](
        device.to(x), device.to(scale), y.array, n, shift, GROUP=group, BLOCK=BLOCK
    )
    factor = np.repeat(scale, group)[:n].astype(np.float64)
    want = x[shift:] * factor + np.where(np.arange(n) % 2 == 0, factor, 1.0)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5, atol=1e-6)


@pantile.jit
def chain_kernel(first_ptr, second_ptr, pool_ptr, y_ptr, n, A: tl.constexpr, B: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < n
        page = tl.load(first_ptr + at // A, mask=mask, other=0)
        entry = tl.load(second_ptr + page * (A // B) + at % A // B, mask=mask, other=0)
        x = tl.load(pool_ptr + entry * B + at % B, mask=mask, other=0.0)
        tl.store(y_ptr + at, x, mask=mask)


@pytest.mark.parametrize("a, b", [(64, 8), (16, 16), (12, 4), (256, 2)])
def test_tables_of_tables(device, a, b):
    n, pages, entries = 1900, 11, 40
    first = integers(0, pages, -(-n // a), "int32")
    second = integers(0, entries, pages * (a // b), "int64")
    pool = random((entries * b,), "fp32")
    y = device.output((n,), "fp32")
    chain_kernel[(1,)](
        device.to(first), device.to(second), device.to(pool), y.array, n, A=a, B=b, BLOCK=BLOCK
    )
    at = np.arange(n)
    entry = second[first[at // a] * (a // b) + at % a // b]
    np.testing.assert_array_equal(y.numpy(), pool[entry * b + at % b])


@pantile.jit
def packed_kernel(x_ptr, y_ptr, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    PER_BYTE: tl.constexpr = 8 // BITS
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    byte = tl.load(x_ptr + at // PER_BYTE, mask=mask, other=0)
    value = (byte >> (at % PER_BYTE * BITS).to(tl.uint8)) & (2**BITS - 1)
    tl.store(y_ptr + at, value.to(tl.float16), mask=mask)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("n", [2048, 1998])
def test_packed_numbers(device, bits, n):
    per_byte = 8 // bits
    x = integers(0, 256, -(-n // per_byte), "uint8")
    y = device.output((n,), "fp16")
    packed_kernel[(pantile.cdiv(n, BLOCK),)](device.to(x), y.array, n, BITS=bits, BLOCK=BLOCK)
    at = np.arange(n)
    want = x[at // per_byte] >> (at % per_byte * bits) & (2**bits - 1)
    np.testing.assert_array_equal(y.numpy(), want.astype(np.float16))


@pantile.jit
def spread_kernel(x_ptr, y_ptr, z_ptr, rows, columns, FACTOR: tl.constexpr, M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    row, column = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mask = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row // FACTOR * columns + column // FACTOR, mask=mask, other=0.0)
    y = tl.load(y_ptr + column * rows + row, mask=mask, other=0.0)
    tl.store(z_ptr + row * columns + column, x + y, mask=mask)
    tl.store(z_ptr + rows * columns + column * rows + row, x - y, mask=mask)


@pytest.mark.parametrize("factor", [1, 2, 3, 8])
@pytest.mark.parametrize("m, n", [(32, 64), (24, 40)])
def test_tiles_that_repeat_rows_and_columns(device, factor, m, n):
    rows, columns = m - 3, n - 5
    x, y = random((-(-rows // factor), columns), "fp32"), random((columns, rows), "fp32")
    z = device.output((2, rows * columns), "fp32")
    spread_kernel[(1,)](device.to(x), device.to(y), z.array, rows, columns, FACTOR=factor, M=m, N=n)
    row, column = np.ogrid[:rows, :columns]
    read = x[row // factor, column // factor]
    total, difference = z.numpy()
    np.testing.assert_array_equal(total.reshape(rows, columns), read + y.T)
    np.testing.assert_array_equal(difference.reshape(columns, rows), (read - y.T).T)


@pantile.jit
def reread_kernel(x_ptr, y_ptr, z_ptr, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + at // GROUP, mask=at < n, other=0)
    tl.debug_barrier()
    tl.store(x_ptr + at // GROUP, before + 1, mask=(at < n) & (at % GROUP == 0))
    tl.debug_barrier()
    after = tl.load(x_ptr + at // GROUP, mask=at < n, other=0)
    again = tl.load(x_ptr + at // GROUP, mask=at < n, other=0, volatile=True)
    x = tl.load(y_ptr + after * GROUP + at % GROUP, mask=at < n, other=0.0)
    tl.store(z_ptr + at, x + (again - before), mask=at < n)


@pytest.mark.parametrize("group", [2, 4, 16])
@pytest.mark.parametrize("n", [512, 300])
def test_numbers_that_are_written_between_two_loads(device, group, n):
    n -= n % group
    x = integers(0, 20, n // group, "int32")
    rows = random((22, group), "fp32")
    z = device.output((n,), "fp32")
    numbers = device.to(x.copy())
    reread_kernel[(1,)](numbers, device.to(rows), z.array, n, GROUP=group, BLOCK=BLOCK)
    at = np.arange(n)
    want = rows[x[at // group] + 1, at % group] + np.float32(1)
    np.testing.assert_array_equal(z.numpy(), want)
    np.testing.assert_array_equal(device.numpy(numbers), x + 1)


@pantile.jit
def negative_kernel(y_ptr, shift, M: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    rest = (at - shift) % M
    tl.store(y_ptr + at, rest >> 2)
    tl.store(y_ptr + BLOCK + at, rest // C)
    tl.store(y_ptr + 2 * BLOCK + at, (rest >= 0).to(tl.int32))
    tl.store(y_ptr + 3 * BLOCK + at, (at - shift) // C)
    tl.store(y_ptr + 4 * BLOCK + at, (at - shift) >> 3)
    tl.store(y_ptr + 5 * BLOCK + at, (rest & 31) // 8)


@pytest.mark.parametrize("shift", [0, 64, 256, 60, 1])
@pytest.mark.parametrize("m, c", [(64, 4), (32, 16), (24, 8), (7, 3)])
@pytest.mark.parametrize("warps", [1, 4])
def test_groups_of_negative_numbers(device, shift, m, c, warps):
    y = device.output((6, BLOCK), "i32")
    negative_kernel[(1,)](y.array, shift, M=m, C=c, BLOCK=BLOCK, num_warps=warps)
    at = np.arange(BLOCK) - shift
    rest = np.fmod(at, m)  # towards zero, as in C
    quotient = lambda x: np.trunc(x / c).astype(int)  # noqa: E731
    want = [rest >> 2, quotient(rest), rest >= 0, quotient(at), at >> 3, (rest & 31) // 8]
    np.testing.assert_array_equal(y.numpy(), np.array(want, int))


@pantile.jit
def overflowing_kernel(x_ptr, y_ptr, MUL: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    byte = tl.load(x_ptr + tl.arange(0, N))
    places = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    high = (byte.to(tl.int32) << 24)[:, None] + tl.arange(0, M)[None, :]
    tl.store(y_ptr + places, high // 8)
    tl.store(y_ptr + N * M + places, high % 8 // 2)
    short = (byte.to(tl.int16) * 256)[:, None] + tl.arange(0, M).to(tl.uint8).to(tl.int16)[None, :]
    tl.store(y_ptr + 2 * N * M + places, (short // 16).to(tl.int32))
    product = tl.program_id(0) * MUL * M + tl.arange(0, M)
    hashed = product // 4 + product % 16 // 4 + (product % 16 < 8)
    tl.store(y_ptr + 3 * N * M + tl.program_id(0) * M + tl.arange(0, M), hashed)


def fold(x, bits):
    """The last bits of integers, as signed numbers."""
    return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@pytest.mark.parametrize("warps", [1, 2])
@pytest.mark.parametrize("m", [64, 128])
def test_quotients_of_numbers_that_overflow(device, m, warps):
    n, mul = 32, 506817
    byte = integers(0, 256, n, "uint8")
    byte[:2] = 128, 255
    y = device.output((4, n, m), "i32")
    overflowing_kernel[(n,)](device.to(byte), y.array, MUL=mul, M=m, N=n, num_warps=warps)
    wide, column = byte.astype(np.int64)[:, None], np.arange(m)
    quotient = lambda x, by: np.trunc(x / by).astype(np.int64)  # noqa: E731
    high, short = fold((wide << 24) + column, 32), fold(wide * 256 + column, 16)
    product = fold(np.arange(n)[:, None] * mul * m + column, 32)
    rest = np.fmod(product, 16)
    hashed = quotient(product, 4) + quotient(rest, 4) + (rest < 8)
    want = [quotient(high, 8), quotient(np.fmod(high, 8), 2), quotient(short, 16), hashed]
    np.testing.assert_array_equal(y.numpy(), np.array(want))


@pantile.jit
def signed_mask_kernel(x_ptr, y_ptr, z_ptr, shift, M: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = (at - shift) % M >= 0
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask, other=-5.0))
    tl.store(y_ptr + BLOCK + at, tl.load(x_ptr + at // 4, mask=mask, other=-5.0))
    tl.store(z_ptr + at, tl.load(x_ptr + at), mask=mask)


@pytest.mark.parametrize("m", [8, 16, 64])
@pytest.mark.parametrize("shift", [64, 128, 16])
def test_masks_by_the_rest_of_negative_numbers(device, shift, m):
    x = random((BLOCK,), "fp32")
    y = device.output((2, BLOCK), "fp32")
    z = device.to(np.full(BLOCK, 7, np.float32))
    signed_mask_kernel[(1,)](device.to(x), y.array, z, shift, M=m, BLOCK=BLOCK)
    at = np.arange(BLOCK)
    mask = np.fmod(at - shift, m) >= 0
    want = [np.where(mask, x, -5), np.where(mask, x[at // 4], -5)]
    np.testing.assert_array_equal(y.numpy(), np.array(want))
    np.testing.assert_array_equal(device.numpy(z), np.where(mask, x, 7))
