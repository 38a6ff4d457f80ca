"""complex64 in kernels, on every device, against NumPy's complex128: every element, random data."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from complex_arrays import KINDS, check, numbers, operand, reals, same, wide

LENGTHS = [1, 64, 97, 1000]


@triton.jit
def copy_kernel(out, x, n, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=3 - 2j))


@pytest.mark.parametrize("length", LENGTHS)
def test_load_and_store(device, length):
    n = 2 * length + length // 3
    x = numbers(n, 1)
    out = device.output(3 * length, "c64")
    copy_kernel[(3,)](out.array, device.to(x), n, length)
    same(out.numpy(), np.concatenate([x, np.full(3 * length - n, 3 - 2j, np.complex64)]))


def test_bits_of_every_kind_are_kept(device):
    parts = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -1e-45, 3.4e38], np.float32)
    x = np.empty((8, 8), np.complex64)
    x.real, x.imag = parts[:, None], parts[None, :]
    out = device.output(64, "c64")
    copy_kernel[(1,)](out.array, device.to(x.reshape(64)), 64, 64)
    got = out.numpy().view(np.float32)
    np.testing.assert_array_equal(got, x.reshape(64).view(np.float32))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x.reshape(64).view(np.float32)))


@triton.jit
def masked_store_kernel(out, x, flags, strides, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    at = rows * N + columns
    z = tl.load(x + at, mask=tl.load(flags + at) != 0, other=tl.load(strides + columns))
    tl.store(out + columns * M + rows, z, mask=z.real > z.imag)
    tl.store(out + columns * M + rows, 5.0, mask=z.real <= z.imag)


@pytest.mark.parametrize("shape", [(16, 32), (5, 24), (64, 1)])
def test_masks_and_other_tiles(device, shape):
    x, other = numbers(shape, 2), reals(shape[1], 3)
    flags = np.random.default_rng(4).integers(0, 2, shape).astype(np.int32)
    out = device.output(shape[::-1], "c64")
    masked_store_kernel[(1,)](out.array, device.to(x), device.to(flags), device.to(other), *shape)
    z = np.where(flags != 0, x, other.astype(np.complex64))
    same(out.numpy(), np.where(z.real > z.imag, z, np.complex64(5)).T)


@triton.jit
def arithmetic_kernel(out, x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, a + b)
    tl.store(out + N + at, a - b)
    tl.store(out + 2 * N + at, a * b)
    tl.store(out + 3 * N + at, a / b)


def results(a, b):
    return np.stack([a + b, a - b, a * b, a / b])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [64, 97])
def test_arithmetic(device, length, kind):
    """Sums and differences are exact, products and quotients right to 1e-6."""
    x, y = numbers(length, 5), operand(kind, length, 6)
    for a, b in [(x, y), (y, x)]:
        out = device.output((4, length), "c64")
        arithmetic_kernel[(1,)](out.array, device.to(a), device.to(b), length)
        got, expected = out.numpy(), results(wide(a), wide(b))
        check(got[2:], expected[2:], 1e-6)
        assert np.abs(got[:2] - expected[:2]).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e10, 1e30])
@pytest.mark.parametrize("other", [1e-8, 1.0, 1e8])
def test_quotients_whose_squares_leave_the_range(device, scale, other):
    x, y = numbers(64, 7) * np.float32(scale), numbers(64, 8) * np.float32(scale)
    y[:16].real *= np.float32(other)
    y[16:32].imag *= np.float32(other)
    out = device.output((4, 64), "c64")
    arithmetic_kernel[(1,)](out.array, device.to(x), device.to(y), 64)
    expected = wide(x) / wide(y)
    kept = np.abs(expected) < 1e38
    check(out.numpy()[3][kept], expected[kept], 1e-6)


@triton.jit
def divide_kernel(out, x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) / tl.load(y + at))


def test_division_by_zero(device):
    x = np.array([1 + 2j, -1 + 0j, 0j, 3j, -2 - 5j, 1, 2, 3], np.complex64)
    out = device.output(8, "c64")
    divide_kernel[(1,)](out.array, device.to(x), device.to(np.zeros(8, np.complex64)), 8)
    with np.errstate(all="ignore"):
        expected = x / np.zeros(8, np.complex64)
    np.testing.assert_array_equal(out.numpy().view(np.float32), expected.view(np.float32))


SHIFT = tl.constexpr(2 - 1j)


@triton.jit
def constants_kernel(out, x, y, STEP: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    z, r = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, (1 + 2j) * z - SHIFT)
    tl.store(out + N + at, r * 1j + STEP)
    tl.store(out + 2 * N + at, -z + 3)
    tl.store(out + 3 * N + at, 1 / z + (2j * 2j).real + abs(3 + 4j) + STEP.imag)
    tl.store(out + 4 * N + at, +z * 0.5 - r)
    tl.store(out + 5 * N + at, complex(1, -1) * z + complex(2.0) - (1j if SHIFT == 2 - 1j else 0))


def test_constants(device):
    """Complex constants and arguments compute with tiles as in NumPy."""
    x, y = numbers(32, 9), reals(32, 10)
    out = device.output((6, 32), "c64")
    constants_kernel[(1,)](out.array, device.to(x), device.to(y), -3 + 0.25j, 32)
    z, r = wide(x), wide(y)
    expected = [
        (1 + 2j) * z - (2 - 1j),
        r * 1j + (-3 + 0.25j),
        -z + 3,
        1 / z - 4 + 5 + 0.25,
        z * 0.5 - r,
        (1 - 1j) * z + 2 - 1j,
    ]
    assert np.abs(out.numpy() - np.stack(expected)).max() < 1e-5


def test_constants_of_other_bits_are_other_kernels(device):
    x, y = numbers(32, 28), reals(32, 29)
    for step in [complex(0.0, 1.0), complex(-0.0, 1.0), complex(1.0, 0.0), 1.0]:
        out = device.output((6, 32), "c64")
        constants_kernel[(1,)](out.array, device.to(x), device.to(y), complex(step), 32)
        assert np.abs(out.numpy()[1] - (wide(y) * 1j + step)).max() < 1e-6


@triton.jit
def functions_kernel(out, sizes, flags, x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    z, w = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, tl.conj(z))
    tl.store(out + N + at, tl.complex(z.imag, w.real))
    tl.store(out + 2 * N + at, tl.where(z.real > 0, z, w))
    tl.store(out + 3 * N + at, tl.where(z.real > 0, z, 1.5))
    tl.store(out + 4 * N + at, tl.where(z.imag > 0, w.real, z.conj()))
    tl.store(
        out + 5 * N + at,
        z.real.to(tl.complex64) + tl.complex(0, 1) * w.imag.to(tl.float16).to(tl.complex64),
    )
    tl.store(sizes + at, tl.abs(z))
    tl.store(sizes + N + at, abs(w) + w.conj().abs())
    tl.store(flags + at, (z == w).to(tl.int32))
    tl.store(flags + N + at, (z != w).to(tl.int32))
    tl.store(flags + 2 * N + at, (z == z.real).to(tl.int32))
    tl.store(flags + 3 * N + at, (not z).to(tl.int32))


@pytest.mark.parametrize("length", [64, 97])
def test_functions(device, length):
    """Parts, conjugates, sizes and comparisons are NumPy's."""
    x, y = numbers(length, 11), numbers(length, 12)
    x[::5] = y[::5]
    x[1::5].imag = y[1::5].imag
    x[2::5].imag = 0
    x[3::5] = 0
    out, sizes = device.output((6, length), "c64"), device.output((2, length), "fp32")
    flags = device.output((4, length), "i32")
    functions_kernel[(1,)](out.array, sizes.array, flags.array, device.to(x), device.to(y), length)
    half = y.imag.astype(np.float16).astype(np.float32)
    expected = [
        x.conj(),
        x.imag + 1j * y.real,
        np.where(x.real > 0, x, y),
        np.where(x.real > 0, x, np.complex64(1.5)),
        np.where(x.imag > 0, y.real, x.conj()),
        x.real + 1j * half,
    ]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected).astype(np.complex64))
    check(sizes.numpy(), np.stack([np.abs(wide(x)), 2 * np.abs(wide(y))]))
    truths = [x == y, x != y, x == x.real, x == 0]
    np.testing.assert_array_equal(flags.numpy(), np.stack(truths).astype(np.int32))


@pytest.mark.parametrize("scale", [1e-40, 1e-36, 1e-25, 1e25, 1e38])
def test_magnitudes_whose_squares_leave_the_range(device, scale):
    x = (numbers(64, 13) / 4 * np.float64(scale)).astype(np.complex64)
    out, sizes = device.output((6, 64), "c64"), device.output((2, 64), "fp32")
    flags = device.output((4, 64), "i32")
    functions_kernel[(1,)](out.array, sizes.array, flags.array, device.to(x), device.to(x), 64)
    expected = np.abs(wide(x))
    assert (np.abs(sizes.numpy()[0] - expected) <= 3e-7 * expected + 1.5e-45).all()


def test_magnitudes_of_infinities_and_nan(device):
    parts = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1.5, 3e38], np.float32)
    x = np.empty((8, 8), np.complex64)
    x.real, x.imag = parts[:, None], parts[None, :]
    x = x.reshape(64)
    out, sizes = device.output((6, 64), "c64"), device.output((2, 64), "fp32")
    flags = device.output((4, 64), "i32")
    functions_kernel[(1,)](out.array, sizes.array, flags.array, device.to(x), device.to(x), 64)
    with np.errstate(over="ignore"):
        expected = np.hypot(x.real, x.imag)
    np.testing.assert_allclose(sizes.numpy()[0], expected, rtol=3e-7)
    np.testing.assert_array_equal(flags.numpy()[:2], np.stack([x == x, x != x]))
    np.testing.assert_array_equal(flags.numpy()[3], x == 0)


@triton.jit
def shapes_kernel(out, x, y, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + columns[None, :]
    z = tl.load(x + at)
    v = tl.load(y + columns)
    back = columns[:, None] * M + rows[None, :]
    tl.store(out + back, tl.trans(z) + v[:, None])
    tl.store(out + M * N + back, z.T * tl.expand_dims(v, 1))
    tl.store(out + 2 * M * N + tl.arange(0, M * N), tl.reshape(z, (M * N,)))
    tl.store(out + 3 * M * N + at, tl.broadcast_to(v[None, :], (M, N)) - z)
    tl.store(out + 4 * M * N + at, tl.permute(z.trans(), (1, 0)) + tl.zeros_like(z))
    tl.store(out + 5 * M * N + at, tl.flip(z, 1))
    both = tl.join(z, z.real)
    first, second = tl.split(both)
    tl.store(out + 6 * M * N + at, first * 2 + second)
    tl.store(
        out + 7 * M * N + at,
        tl.full((M, N), 1 - 2j, tl.complex64) + tl.zeros((M, N), tl.complex64) + tl.roll(z, 1, 1),
    )
    longer = tl.cat(z, z.conj(), dim=1)
    tl.store(out + 8 * M * N + rows[:, None] * 2 * N + tl.arange(0, 2 * N)[None, :], longer)
    index = (at // N + columns[None, :]) % N
    tl.store(out + 10 * M * N + at, tl.gather(z, index, 1))
    padded = tl.pad(z, ((0, 0), (N // 2, N // 2)), constant_values=1j)
    tl.store(out + 11 * M * N + rows[:, None] * 2 * N + tl.arange(0, 2 * N)[None, :], padded)


@pytest.mark.parametrize("shape", [(8, 16), (32, 4)])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_shapes(device, shape, num_warps):
    """Operations that move elements move both parts."""
    M, N = shape
    x, y = numbers(shape, 14), numbers(N, 15)
    out = device.output(13 * M * N, "c64")
    shapes_kernel[(1,)](out.array, device.to(x), device.to(y), M, N, num_warps=num_warps)
    z, v = wide(x), wide(y)
    index = (np.arange(M)[:, None] + np.arange(N)[None, :]) % N
    expected = [
        z.T + v[:, None],
        z.T * v[:, None],
        z,
        v - z,
        z,
        z[:, ::-1],
        2 * z + z.real,
        np.roll(z, 1, 1) + 1 - 2j,
        np.concatenate([z, z.conj()], 1),
        np.take_along_axis(z, index, 1),
        np.pad(z, ((0, 0), (N // 2, N // 2)), constant_values=1j),
    ]
    expected = np.concatenate([part.reshape(-1) for part in expected])
    assert np.abs(out.numpy() - expected).max() < 2e-6


@triton.jit
def parts_kernel(out, x, i, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    z = tl.load(x + at)
    line = tl.arange(0, N)
    tl.store(out + line, z[1] + z[i])
    tl.store(out + N, z[2, 3])
    half = tl.arange(0, N // 2)
    tl.store(out + 2 * N + half, z[0, N // 2 :] * z[3, ::2])
    w = z
    w[0] = 1j
    w[1, : N // 2] = z[2, : N // 2].real
    w[i] *= 2 - 1j
    tl.store(out + 3 * N + at, w)
    total = 0j
    for row in z:
        total += row[0]
    tl.store(out + N + 1, total)
    tl.store(out + N + 2, len(z))


def test_parts_of_tiles(device):
    x = numbers((4, 16), 16)
    out = device.output((7, 16), "c64")
    parts_kernel[(1,)](out.array, device.to(x), 2, 4, 16)
    got = out.numpy()
    changed = x.copy()
    changed[0] = 1j
    changed[1, :8] = x[2, :8].real
    changed[2] *= 2 - 1j
    check(got[0], wide(x[1]) + wide(x[2]), 1e-5)
    assert got[1, 0] == x[2, 3] and got[1, 2] == 4
    check(got[1:2, 1], wide(x[:, 0]).sum().reshape(1), 1e-5)
    check(got[2, :8], wide(x[0, 8:]) * wide(x[3, ::2]), 1e-5)
    check(got[3:], wide(changed), 1e-5)
