"""Programs with complex64: reductions, control flow, dots, bits; on every device, against complex128."""

from typing import NamedTuple

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from complex_arrays import check, numbers, operand, reals, same, wide


@triton.jit
def multiplied(a, b):
    return a * b


@triton.jit
def larger(z, i, w, j):
    takes = (tl.abs(z) > tl.abs(w)) | ((tl.abs(z) == tl.abs(w)) & (i < j))
    return tl.where(takes, z, w), tl.where(takes, i, j)


@triton.jit
def reduce_kernel(out, where, x, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    z = tl.load(x + at)
    kept = tl.arange(0, N if AXIS == 0 else M)
    size: tl.constexpr = N if AXIS == 0 else M
    tl.store(out + kept, tl.sum(z, AXIS))
    tl.store(out + size + kept, tl.reduce(z, AXIS, multiplied))
    best, place = tl.reduce(
        (
            z,
            tl.broadcast_to(
                tl.arange(0, M)[:, None] if AXIS == 0 else tl.arange(0, N)[None, :], (M, N)
            ),
        ),
        AXIS,
        larger,
    )
    tl.store(out + 2 * size + kept, best)
    tl.store(where + kept, place)
    tl.store(out + 3 * size, tl.sum(z))
    tl.store(out + 3 * size + 1, z.sum(keep_dims=True).item())
    tl.store(out + 4 * size + at, tl.cumsum(z, AXIS))
    tl.store(out + 4 * size + M * N + at, tl.cumprod(z, AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(8, 16), (32, 4), (5, 24)])
def test_reductions_and_scans(device, shape, axis):
    M, N = shape
    x = numbers(shape, 17)
    size = shape[1 - axis]
    out, where = device.output(4 * size + 2 * M * N, "c64"), device.output(size, "i32")
    reduce_kernel[(1,)](out.array, where.array, device.to(x), M, N, axis)
    got, z = out.numpy(), wide(x)
    assert np.abs(got[:size] - z.sum(axis)).max() < 1e-5
    check(got[size : 2 * size], z.prod(axis), 1e-5)
    place = np.abs(x).argmax(axis)
    np.testing.assert_array_equal(where.numpy(), place)
    same(
        got[2 * size : 3 * size],
        np.take_along_axis(x, np.expand_dims(place, axis), axis).reshape(-1),
    )
    assert np.abs(got[3 * size : 3 * size + 2] - z.sum()).max() < 1e-5
    scans = got[4 * size :].reshape(2, M, N)
    assert np.abs(scans[0] - z.cumsum(axis)).max() < 1e-5
    check(scans[1], z.cumprod(axis), 1e-5)


@triton.jit
def power(z, count: tl.constexpr):
    if count == 0:
        return 1 + 0j
    return z * power(z, count - 1)


@triton.jit
def chosen(z, w, flag):
    if flag > 0:
        return z
    return w * 1j


@triton.jit
def control_kernel(out, x, y, n, flag, N: tl.constexpr):
    at = tl.arange(0, N)
    z, w = tl.load(x + at), tl.load(y + at)
    total, factor = tl.zeros((N,), tl.complex64), 1 + 0j
    for i in range(n):
        total += z * factor
        if i % 2 == 1:
            factor *= 1j
        else:
            factor = 0.5 - 1j
    tl.store(out + at, total)
    tl.store(out + N + at, power(z, 3))
    tl.store(out + 2 * N + at, chosen(z, w, flag))
    steps, v = 0, w
    while tl.abs(tl.sum(v)) > 1e-3:
        v = v * 0.25j
        steps += 1
    tl.store(out + 3 * N + at, v + steps)
    scalar = 2j if flag > 0 else -1 + 0j
    pair = (z, scalar)
    if flag == 7:
        pair = (w, scalar + 1)
    tl.store(out + 4 * N + at, pair[0] * pair[1])
    if scalar:
        tl.store(out + 5 * N + at, [z, w][1])


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("flag", [-1, 1, 7])
def test_control_flow(device, n, flag):
    x, y = numbers(32, 18), numbers(32, 19)
    out = device.output((6, 32), "c64")
    control_kernel[(1,)](out.array, device.to(x), device.to(y), n, flag, 32)
    z, w = wide(x), wide(y)
    total, factor = np.zeros(32, complex), 1
    for i in range(n):
        total += z * factor
        factor = factor * 1j if i % 2 == 1 else 0.5 - 1j
    steps, v = 0, w
    while abs(v.sum()) > 1e-3:
        v, steps = v * 0.25j, steps + 1
    scalar = 2j if flag > 0 else -1
    paired = w * (scalar + 1) if flag == 7 else z * scalar
    expected = [total, z**3, z if flag > 0 else w * 1j, v + steps, paired, w]
    assert np.abs(out.numpy() - np.stack(expected)).max() < 2e-5


@triton.jit
def dot_kernel(out, x, y, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr):
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    a = tl.load(x + rows * K + depth[None, :])
    b = tl.load(y + depth[:, None] * N + columns)
    at = rows * N + columns
    if HOW == "alone":
        product = tl.dot(a, b, input_precision="ieee")
    elif HOW == "onto":
        product = tl.dot(a, b, tl.load(c + at), input_precision="ieee")
    elif HOW == "plus":
        product = tl.load(c + at) + tl.dot(a, b, input_precision="ieee")
    else:
        product = tl.dot(a, b, input_precision="ieee", out_dtype=tl.complex64) + tl.load(c + at)
    tl.store(out + at, product)


@pytest.mark.parametrize("how", ["alone", "onto", "plus", "before"])
@pytest.mark.parametrize("kinds", [("c64", "c64"), ("c64", "fp32"), ("fp32", "c64")])
@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 32, 48)])
def test_dot(device, shape, kinds, how):
    """A dot of complex and real operands agrees with complex128."""
    M, N, K = shape
    x, y = operand(kinds[0], (M, K), 20), operand(kinds[1], (K, N), 21)
    c = numbers((M, N), 22)
    out = device.output((M, N), "c64")
    dot_kernel[(1,)](out.array, device.to(x), device.to(y), device.to(c), M, N, K, how)
    expected = wide(x) @ wide(y) + (0 if how == "alone" else wide(c))
    assert np.abs(out.numpy() - expected).max() < 1e-5 * np.sqrt(K)


@triton.jit
def matmul_kernel(
    out, x, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.complex64)
    for k in range(0, K, BK):
        depth = k + tl.arange(0, BK)
        a = tl.load(
            x + rows[:, None] * K + depth[None, :],
            mask=(rows[:, None] < M) & (depth[None, :] < K),
            other=0,
        )
        b = tl.load(
            y + depth[:, None] * N + columns[None, :],
            mask=(depth[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(a, b, input_precision=HOW)
    tl.store(
        out + rows[:, None] * N + columns[None, :],
        acc,
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "ieee"])
@pytest.mark.parametrize("num_stages", [1, 3])
def test_pipelined_complex_gemm(device, precision, num_stages):
    """A pipelined complex GEMM agrees with complex128."""
    M, N, K = 100, 70, 90
    x, y = numbers((M, K), 23), numbers((K, N), 24)
    out = device.output((M, N), "c64")
    matmul_kernel[(2, 2)](
        out.array, device.to(x), device.to(y), M, N, K, 64, 64, 32, precision, num_stages=num_stages
    )
    error = 4e-3 if precision == "tf32" else 1e-5
    assert np.abs(out.numpy() - wide(x) @ wide(y)).max() < error * np.sqrt(K)


@triton.jit
def bits_kernel(out, words, x, N: tl.constexpr):
    at = tl.arange(0, N)
    z = tl.load(x + at)
    word = z.to(tl.uint64, bitcast=True)
    tl.store(words + at, word)
    swapped = ((word << 32) | (word >> 32)).to(tl.complex64, bitcast=True)
    pointer = (x + at).to(tl.pointer_type(tl.float32))
    tl.store(out + at, swapped + tl.load(pointer) + 1j * tl.load(pointer + 1))
    tl.static_assert(z.dtype == tl.complex64)
    tl.static_assert(z.dtype.is_complex64() and not z.dtype.is_floating() and not z.dtype.is_int())
    tl.static_assert(z.shape == (N,) and z.numel == N and x.dtype.element_ty == tl.complex64)
    tl.static_assert(isinstance(z, tl.tensor) and z.dtype.primitive_bitwidth == 64)
    again = out.to(tl.pointer_type(tl.complex64)) + N + at
    tl.store(again, swapped.to(tl.complex64))


def test_bits_and_types(device):
    x = numbers(64, 25)
    out, words = device.output((2, 64), "c64"), device.output(64, "u64")
    bits_kernel[(1,)](out.array, words.array, device.to(x), 64)
    swapped = x.view(np.float32).reshape(-1, 2)[:, ::-1].copy().view(np.complex64).reshape(-1)
    same(words.numpy(), x.view(np.uint64))
    check(out.numpy()[0], wide(swapped) + wide(x), 1e-5)
    same(out.numpy()[1], swapped)


@triton.jit
def block_kernel(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    z = tl.load(source, boundary_check=(0, 1))
    tl.store(target, z * 2j, boundary_check=(0, 1))


def test_block_pointers(device):
    """Block pointers load and store complex tiles within their bounds."""
    x = numbers((13, 27), 26)
    out = device.output((13, 27), "c64")
    block_kernel[(1,)](out.array, device.to(x), 13, 27, 16, 32)
    same(out.numpy(), (wide(x) * 2j).astype(np.complex64))


@triton.jit
def vector_kernel(out, x, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * (1 - 1j))


def test_neighbours_move_together(device):
    """Two elements with one access of 16 bytes."""
    x = numbers(2048, 27)
    out = device.output(2048, "c64")
    kernel = vector_kernel[(2,)](out.array, device.to(x), 1024)
    check(out.numpy(), wide(x) * (1 - 1j), 1e-6)
    if "ptx" in kernel.asm:
        accesses = [line for line in kernel.asm["ptx"].splitlines() if ".global." in line]
        assert accesses and all(".v4.b32" in line or ".v2.b64" in line for line in accesses)


@triton.jit
def print_kernel(x):
    tl.static_print(1j, -2.5 + 1j, 1 - 0.5j, (1j,))
    tl.store(x, 1)


def test_constants_as_strings(device, capfd):
    print_kernel[(1,)](device.output(1, "c64").array)
    assert "1j (-2.5+1j) (1-0.5j) (1j,)" in capfd.readouterr().out


@triton.constexpr_function
def turned(z):
    return z.conjugate() * 2


class Pair(NamedTuple):
    tile: tl.tensor
    factor: tl.tensor


@triton.jit
def structures_kernel(out, x, N: tl.constexpr):
    at = tl.arange(0, N)
    pair = Pair(tl.load(x + at), turned(1 + 2j))
    for i in range(3):
        pair = Pair(pair.tile * pair.factor, pair.factor)
        if i == 1:
            pair = Pair(pair.tile + 1, 2j)
    tl.store(out + at, pair.tile)
    times = lambda w: w * 1j  # noqa: E731
    first = pair.tile[0]
    if first == 0:
        first = 5j
    tl.store(out + N + at, times(tl.where(pair.tile.real > 0, first, pair.tile)))


def test_objects_and_functions_of_compile_time(device):
    x = numbers(32, 30)
    out = device.output((2, 32), "c64")
    structures_kernel[(1,)](out.array, device.to(x), 32)
    tile = wide(x) * (2 - 4j) * (2 - 4j) + 1
    tile = tile * 2j
    expected = [tile, 1j * np.where(tile.real > 0, tile[0], tile)]
    check(out.numpy(), np.stack(expected), 1e-5)


@triton.jit
def shared_kernel(out, x, y, c, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b, acc = tl.load(x + at), tl.load(y + at), tl.load(c + at)
    first = tl.load(x)
    twice = lambda d: tl.complex(d, d)  # noqa: E731
    tl.store(out + at, acc + twice(tl.dot(b, b, input_precision="ieee")))
    product = tl.dot(a, b, input_precision="ieee")
    acc += product
    acc += product * first
    tl.store(out + N * N + at, acc)
    acc = tl.dot(a, b, input_precision="ieee") + tl.dot(b, a, input_precision="ieee")
    tl.store(out + 2 * N * N + at, acc - product)
    acc += tl.conj(tl.dot(a, a, input_precision="ieee"))
    tl.store(out + 3 * N * N + at, acc)


def test_products_that_are_used_twice(device):
    x, y, c = numbers((16, 16), 31), reals((16, 16), 32), numbers((16, 16), 33)
    out = device.output((4, 16, 16), "c64")
    shared_kernel[(1,)](out.array, device.to(x), device.to(y), device.to(c), 16)
    a, b, acc = wide(x), wide(y), wide(c)
    expected = [
        acc + b @ b * (1 + 1j),
        acc + a @ b * (1 + a[0, 0]),
        b @ a,
        a @ b + b @ a + (a @ a).conj(),
    ]
    assert np.abs(out.numpy() - np.stack(expected)).max() < 1e-4
