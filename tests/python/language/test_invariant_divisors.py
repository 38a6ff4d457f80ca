"""Division and remainder by a number that a loop does not change: a few multiplications by its reciprocal.

Every quotient is compared, with divisors and dividends from the ends of the type.
"""

import numpy as np
import pantile
import pantile.language as tl
import pytest

LEAST, MOST = -(2**31), 2**31 - 1
EDGES = [
    0,
    1,
    2,
    3,
    7,
    10,
    255,
    256,
    65535,
    65536,
    65537,
    2**24 - 1,
    2**24,
    2**24 + 1,
    2**30,
    MOST - 1,
    MOST,
]
DIVISORS = [d for e in EDGES[1:] for d in (e, -e)] + [LEAST, 641, 6700417, 16777619, 2147483629]


@pantile.jit
def scalars_kernel(x_ptr, out_ptr, divisor, count):
    for i in range(count):
        x = tl.load(x_ptr + i)
        tl.store(out_ptr + 2 * i, x // divisor)
        tl.store(out_ptr + 2 * i + 1, x % divisor)


@pantile.jit
def tiles_kernel(x_ptr, out_ptr, divisor, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for i in range(count):
        x = tl.load(x_ptr + i * BLOCK + at)
        tl.store(out_ptr + 2 * (i * BLOCK + at), x // divisor)
        tl.store(out_ptr + 2 * (i * BLOCK + at) + 1, x % divisor)


@pantile.jit
def counted_kernel(out_ptr, first, step, divisor, count, BLOCK: tl.constexpr):
    for i in range(count):
        at = first + (i * BLOCK + tl.arange(0, BLOCK)) * step
        q, r = at // divisor, at % divisor
        tl.store(out_ptr + (i * BLOCK + tl.arange(0, BLOCK)), q)
        tl.store(out_ptr + (count + i) * BLOCK + tl.arange(0, BLOCK), r)
        tl.store(out_ptr + 2 * count * BLOCK + i, (first + i * step) // divisor)


@pantile.jit
def changing_kernel(x_ptr, d_ptr, out_ptr, count):
    """Of the divisors one changes in the loop, and one is changed by the loop around it."""
    for i in range(count):
        d = tl.load(d_ptr + i)
        for j in range(count):
            x = tl.load(x_ptr + j)
            q = x // d + x % (d + j)
            tl.store(out_ptr + i * count + j, q)


def dividends(divisor, count):
    near = [k * divisor + e for k in (1, 2, -1, -3, MOST // abs(divisor)) for e in (-1, 0, 1)]
    values = [v for e in EDGES for v in (e, -e)] + near + [LEAST + 1]
    values = [v for v in values if LEAST < v <= MOST]
    drawn = np.random.default_rng().integers(LEAST + 1, MOST, count - len(values), endpoint=True)
    return np.concatenate([values, drawn]).astype(np.int32)


def truncated(x, d):
    x = x.astype(np.int64)
    quotient = np.abs(x) // abs(d) * np.sign(x) * np.sign(d)
    return np.stack([quotient, x - quotient * d], axis=-1).astype(np.int32)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_numbers_of_a_loop(device, divisor):
    x = dividends(divisor, 128)
    out = device.output((x.size, 2), "i32")
    scalars_kernel[(1,)](device.to(x), out.array, divisor, x.size, num_warps=1)
    np.testing.assert_array_equal(out.numpy(), truncated(x, divisor))


@pytest.mark.parametrize("divisor", DIVISORS)
def test_tiles_of_a_loop(device, divisor):
    x = dividends(divisor, 2048)
    out = device.output((x.size, 2), "i32")
    tiles_kernel[(1,)](device.to(x), out.array, divisor, x.size // 256, BLOCK=256)
    np.testing.assert_array_equal(out.numpy(), truncated(x, divisor))


@pytest.mark.parametrize("divisor", [1, 2, 77, 256, 1000, -3, 65537, MOST])
@pytest.mark.parametrize("first, step", [(0, 1), (-700, 3), (2**30, 65536), (MOST - 5, -1048573)])
def test_numbers_that_a_loop_counts(device, first, step, divisor):
    count, block = 7, 256
    at = first + np.arange(count * block, dtype=np.int64) * step
    out = device.output(2 * count * block + count, "i32")
    counted_kernel[(1,)](out.array, first, step, divisor, count, BLOCK=block)
    want = truncated(at.astype(np.int32), divisor)
    own = truncated((first + np.arange(count, dtype=np.int64) * step).astype(np.int32), divisor)
    np.testing.assert_array_equal(out.numpy(), np.concatenate([want[:, 0], want[:, 1], own[:, 0]]))


def test_divisors_that_change_around_the_loop_and_in_it(device):
    count = 24
    x = dividends(7, 256)[:count]
    d = np.array([*DIVISORS[2:20], 5, 11, 13, 17, 19, 23], np.int32)
    d[d == 1] = 29
    d = np.where(np.abs(d.astype(np.int64)) > 2**29, 31, d).astype(np.int32)
    d = np.where((d <= 0) & (d > -count), -97, d).astype(np.int32)
    out = device.output((count, count), "i32")
    changing_kernel[(1,)](device.to(x), device.to(d), out.array, count, num_warps=1)
    for i in range(count):
        first = truncated(x, int(d[i]))[:, 0].astype(np.int64)
        second = [truncated(x[j : j + 1], int(d[i]) + j)[0, 1] for j in range(count)]
        np.testing.assert_array_equal(out.numpy()[i], (first + second).astype(np.int32))
