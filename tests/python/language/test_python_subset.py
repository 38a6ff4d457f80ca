"""The parts of Python that kernels may use: unpacking, comprehensions, strings, closures, calls."""

from typing import NamedTuple

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

SCALE = tl.constexpr(3)
NAME = tl.constexpr("relu_fast")


@triton.jit
def unpack_kernel(out_ptr, a, b):
    first, *middle, last = (a, b, a + b, a - b, 7)
    (x, [y, z]), w = (a, (b, 5)), 9
    p = q = a * 2
    tl.store(out_ptr, first)
    for i in tl.static_range(len(middle)):
        tl.store(out_ptr + 1 + i, middle[i])
    tl.store(out_ptr + 4, last)
    *head, tail = middle
    tl.store(out_ptr + 5, tail + len(head) + x + y + z + w + p + q)
    x, y = y, x
    tl.store(out_ptr + 6, x * 100 + y)
    (only,) = (a,)
    only, *nothing = (only,)
    tl.store(out_ptr + 7, only + len(nothing))


def test_unpacking(device):
    """Nested and starred targets get what Python gives them."""
    out = device.output(8, "i32")
    unpack_kernel[(1,)](out.array, 11, 4)
    tail = 7 + 2 + 11 + 4 + 5 + 9 + 22 + 22
    np.testing.assert_array_equal(out.numpy(), [11, 4, 15, 7, 7, tail, 411, 11])


@triton.jit
def sequences_kernel(out_ptr, a, b, N: tl.constexpr):
    values = [i * i for i in range(N) if i % 2 == 1]
    pairs = [(i, j) for i in (1, 2, 3) for j in range(i) if i != j]
    total = sum(values) + len(pairs)
    for i, (x, y) in enumerate(zip((a, b, a * b), values), start=1):
        total += i * (x + y)
    for letter in "abc":
        total += 1000 if letter in ("a", "c") else 0
    for x in reversed((1, 2, a)):
        total = total * 2 + x
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, sorted((5, 2, 9), reverse=True)[0] * 10 + sorted([3, 1])[0])
    tl.store(out_ptr + 2, any([a > b, a == 0]))
    tl.store(out_ptr + 3, all((a > b, b > 0, True)))
    tl.store(out_ptr + 4, any(x > 3 for x in (1, 2)) or all([]))
    tl.store(out_ptr + 5, sum(map(lambda x: x + b, (a, 2))) + pow(2, N) + divmod(a, 4)[1])
    tl.store(out_ptr + 6, a in (1, 11, b))
    tl.store(out_ptr + 7, a not in (b, 12) and 3 not in (1, 2) and "fast" in NAME.value)
    tl.store(out_ptr + 8, 0 < b < a <= 11)
    tl.store(out_ptr + 9, (1, 2, 3)[-1] + (4, 5, 6, 7)[1:3][0] + abs(-3) + min(3, 2) + max((1, 8)))


def test_sequences(device):
    """Comprehensions, `zip` and `enumerate` give what Python's do."""
    a, b, n = 11, 4, 6
    out = device.output(10, "i32")
    sequences_kernel[(1,)](out.array, a, b, n)
    values = [i * i for i in range(n) if i % 2 == 1]
    total = sum(values) + len([(i, j) for i in (1, 2, 3) for j in range(i) if i != j])
    total += sum(i * (x + y) for i, (x, y) in enumerate(zip((a, b, a * b), values), start=1))
    total += 2000
    for x in (a, 2, 1):
        total = total * 2 + x
    mapped = (a + b) + (2 + b) + 2**n + a % 4
    np.testing.assert_array_equal(
        out.numpy(), [total, 91, 1, 1, 1, mapped, 1, 1, 1, 3 + 5 + 3 + 2 + 8]
    )


@triton.jit
def strings_kernel(out_ptr, KIND: tl.constexpr, N: tl.constexpr):
    if KIND.startswith("re") and KIND.endswith(("x", "fast")) and "lu_" in KIND:
        tl.store(out_ptr, 1)
    else:
        tl.store(out_ptr, 2)
    tl.static_assert(KIND.upper() == "RELU_FAST" and KIND[0] == "r" and KIND[-4:] == "fast")
    tl.static_assert(KIND.split("_")[1] == "fast", "split")
    tl.static_assert("-".join(("a", "b")) == "a-b")
    tl.static_assert(KIND.replace("_", "") == "relufast" and KIND.find("lu") == 2)
    tl.static_assert(f"{N:05d}|{N:x}|{N:>4}|{N:<4}|{N:^5}|{N:+}" == "00042|2a|  42|42  | 42  |+42")
    tl.static_assert(
        f"{N / 8:.2f}|{N * 1000:,}|{0.25:.0%}|{1e-3:e}" == "5.25|42,000|25%|1.000000e-03"
    )
    tl.static_assert(
        f"{KIND:>12}|{KIND!r}|{N = }|{N:#x}|{True}|{'ab':.1}"
        == "   relu_fast|'relu_fast'|N = 42|0x2a|True|a"
    )
    tl.static_assert(f"{N:{4 + 2}}|{2.5}|{1e20}|{N:b}" == "    42|2.5|1e+20|101010")
    tl.static_print(f"kind {KIND}", N, sep=": ")
    tl.store(out_ptr + 1, len(KIND) + KIND.count("a"))


def test_strings(device, capfd):
    """Strings are compared and formatted while the kernel is compiled."""
    out = device.output(2, "i32")
    strings_kernel[(1,)](out.array, "relu_fast", 42)
    np.testing.assert_array_equal(out.numpy(), [1, 10])


@triton.jit
def gather_arguments(first, *rest, scale, offset=10):
    total = first * scale + offset
    for value in rest:
        total += value
    return total, len(rest)


@triton.jit
def arguments_kernel(out_ptr, a, b):
    parts = (a, b, 5)
    x, n = gather_arguments(*parts, scale=2)
    tl.store(out_ptr, x + 1000 * n)
    y, m = gather_arguments(a, scale=b, offset=a)
    tl.store(out_ptr + 1, y + 1000 * m)
    z, k = gather_arguments(1, *parts, *(a, b), offset=0, scale=SCALE)
    tl.store(out_ptr + 2, z + 1000 * k)


def test_arguments_of_calls(device):
    out = device.output(3, "i32")
    arguments_kernel[(1,)](out.array, 11, 4)
    expected = [11 * 2 + 10 + 4 + 5 + 2000, 11 * 4 + 11, 3 + 11 + 4 + 5 + 11 + 4 + 5000]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def apply(f, x, COUNT: tl.constexpr):
    for _ in tl.static_range(COUNT):
        x = f(x)
    return x


@triton.jit
def closures_kernel(out_ptr, x_ptr, shift, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)

    def affine(value, factor=2):
        """Inner functions see the variables around them and the globals."""
        if factor == 2:
            return value * factor + shift
        return value * factor * SCALE

    add = lambda a, b: a + b
    tl.store(out_ptr + offsets, affine(x))
    tl.store(out_ptr + N + offsets, affine(x, factor=5))
    tl.store(out_ptr + 2 * N + offsets, apply(lambda v: v * 0.5 + shift, x, 3))
    tl.store(out_ptr + 3 * N + offsets, add(x, shift))
    tl.store(out_ptr + 4 * N, tl.reduce(x, 0, add))
    tl.store(out_ptr + 4 * N + 1, tl.reduce(x, 0, lambda a, b: tl.maximum(a, b)))
    scanned = tl.associative_scan(x, 0, lambda a, b: a + b)
    tl.store(out_ptr + 5 * N + offsets, scanned)


def test_lambdas_and_inner_functions(device):
    n, shift = 64, 0.75
    x = random(n, "fp32", seed=1)
    out = device.output(6 * n, "fp32")
    closures_kernel[(1,)](out.array, device.to(x), shift, n)
    result, wide = out.numpy().reshape(6, n), x.astype(np.float64)
    applied = wide
    for _ in range(3):
        applied = applied * 0.5 + shift
    for row, expected in zip(
        result, [wide * 2 + shift, wide * 15, applied, wide + shift], strict=False
    ):
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result[4, :2], [wide.sum(), wide.max()], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result[5], np.cumsum(wide), rtol=1e-4, atol=1e-4)


@triton.jit
def returns_at_depth(a, b, c):
    if a > 0:
        if b > 0:
            if c > 0:
                return 1
            elif c == 0:
                return 2
            b = b - 10
        else:
            if c > 0:
                return 3
        a = a + b
    elif c > 0:
        return 4
    if b > 0:
        return a * 10
    return a * 100 + c


@triton.jit
def returns_kernel(out_ptr):
    pid = tl.program_id(0)
    result = returns_at_depth(pid % 3 - 1, pid // 3 % 3 - 1, pid // 9 - 1)
    tl.store(out_ptr + pid, result)


def test_returns_at_every_depth(device):
    out = device.output(27, "i32")
    returns_kernel[(27,)](out.array)
    expected = [returns_at_depth.fn(p % 3 - 1, p // 3 % 3 - 1, p // 9 - 1) for p in range(27)]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def constants_kernel(out_ptr, N: tl.constexpr, FLAG: tl.constexpr, NOTHING: tl.constexpr):
    """Compile-time arithmetic follows Python."""
    big: tl.constexpr = 1 << 40
    tl.store(out_ptr, big + N)
    tl.store(out_ptr + 1, -7 // 2 * 100 + -7 % 3)
    tl.store(out_ptr + 2, N**3 + int(7 / 2) + int(2.9) + (5 if FLAG is True else 6))
    tl.store(out_ptr + 3, 1 if NOTHING is None and FLAG is not None else 0)
    tl.store(out_ptr + 4, 0xFFFFFFFFFFF & ~0xF)
    tl.store(out_ptr + 5, (N > 2) + (N == 5 and FLAG) + (not FLAG))
    tl.store(out_ptr + 6, isinstance(N, int) + 2 * isinstance(1.5, float) + 4 * hasattr(N, "value"))
    tl.store(out_ptr + 7, 3_000_000_000)
    pass


def test_constants(device):
    """Constant expressions are Python's, beyond 32 bits too."""
    out = device.output(8, "i64")
    constants_kernel[(1,)](out.array, 5, True, None)
    expected = [
        (1 << 40) + 5,
        -7 // 2 * 100 + -7 % 3,
        125 + 3 + 2 + 5,
        1,
        0xFFFFFFFFFF0,
        2,
        7,
        3 * 10**9,
    ]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def ranges_kernel(out_ptr, n, FACTOR: tl.constexpr):
    total = 0
    for i in tl.range(
        0, n, 2, num_stages=1, loop_unroll_factor=FACTOR, flatten=True, disable_licm=True
    ):
        total = total * 3 + i
    for i in tl.range(n, 0, -3, disallow_acc_multi_buffer=True, warp_specialize=False):
        total += i
    for i in range(3, n, num_stages=2):
        total += i * 7
    for i in tl.static_range(10, 0, -4):
        total += i
    k = n
    while tl.condition(k > 0, disable_licm=True):
        k -= 4
        total += k
    tl.store(out_ptr, total)


@pytest.mark.parametrize("factor", [1, 4])
def test_ranges(device, factor):
    """Ranges of any step run as Python's."""
    out = device.output(1, "i32")
    ranges_kernel[(1,)](out.array, 13, factor)
    total = 0
    for i in range(0, 13, 2):
        total = total * 3 + i
    total += sum(range(13, 0, -3)) + 7 * sum(range(3, 13)) + sum(range(10, 0, -4))
    k = 13
    while k > 0:
        k -= 4
        total += k
    assert out.numpy()[0] == total


@triton.jit
def merged_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    one = tl.arange(0, 1)
    if (one + n) > 3:
        y = tl.load(x_ptr + offsets)
        only_here = 1  # noqa: F841
    else:
        y = tl.zeros((N,), tl.float32) - 1
    z = y * 2 if n > 5 else y
    tl.store(out_ptr + offsets, z)


@pytest.mark.parametrize("n", [2, 4, 9])
@pytest.mark.filterwarnings("ignore")
def test_condition_of_one_element(device, n):
    x = random(32, "fp32", seed=2)
    out = device.output(32, "fp32")
    merged_kernel[(1,)](out.array, device.to(x), n, 32)
    expected = x if n > 3 else np.full(32, -1, np.float32)
    np.testing.assert_array_equal(out.numpy(), expected * 2 if n > 5 else expected)


class Pair(NamedTuple):
    left: tl.tensor
    right: tl.tensor


@triton.jit
def swapped(pair):
    return Pair(pair.right, pair.left)


@triton.jit
def tuples_in_loops_kernel(out_ptr, n):
    pair = Pair(1, 2)
    nested = (0, (pair.left, pair.right))
    for i in range(n):
        pair = swapped(pair)
        nested = (nested[0] + i, (nested[1][1], nested[1][0] + 1))
        if i == 7:
            continue
        if i > 20:
            break
        pair = Pair(pair.left + i, pair.right)
    tl.store(out_ptr, pair.left)
    tl.store(out_ptr + 1, pair.right)
    tl.store(out_ptr + 2, nested[0])
    tl.store(out_ptr + 3, nested[1][0] * 1000 + nested[1][1])


@pytest.mark.parametrize("n", [0, 7, 9, 40])
def test_tuples_in_loops(device, n):
    out = device.output(4, "i32")
    tuples_in_loops_kernel[(1,)](out.array, n)
    pair, nested = (1, 2), (0, (1, 2))
    for i in range(n):
        pair = pair[1], pair[0]
        nested = (nested[0] + i, (nested[1][1], nested[1][0] + 1))
        if i == 7:
            continue
        if i > 20:
            break
        pair = (pair[0] + i, pair[1])
    np.testing.assert_array_equal(
        out.numpy(), [*pair, nested[0], nested[1][0] * 1000 + nested[1][1]]
    )


def test_condition_of_one_element_warns():
    """On the CPU: the warning comes from the front end."""
    x, out = random(32, "fp32", seed=3), np.zeros(32, np.float32)
    with pytest.warns(RuntimeWarning, match="tile of one element"):
        merged_kernel.warmup(out, x, 3, 32, grid=(1,), debug=True)


@triton.jit
def wide_down_kernel(out_ptr, start, stop):
    count = 0
    for i in range(start, stop, -(2**30)):
        count += 1
        tl.store(out_ptr + count, i)
    tl.store(out_ptr, count)


def test_counting_down_over_all_integers(device):
    out = device.output(5, "i32")
    wide_down_kernel[(1,)](out.array, 2**31 - 1, -(2**31))
    values = list(range(2**31 - 1, -(2**31), -(2**30)))
    np.testing.assert_array_equal(out.numpy(), [len(values), *values])
