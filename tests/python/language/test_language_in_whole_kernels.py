"""Kernels that use rare corners of Triton's language, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.language.extra.cuda import libdevice
from pantile.tools.tensor_descriptor import TensorDescriptor

N = 256


def ints(count, seed, low=-50, high=50):
    return np.random.default_rng(seed).integers(low, high, count).astype(np.int32)


@triton.jit
def moments(a_n, a_mean, a_m2, b_n, b_mean, b_m2):
    total = a_n + b_n
    delta = b_mean - a_mean
    share = tl.where(total == 0, 0.0, b_n / total)
    return total, a_mean + delta * share, a_m2 + b_m2 + delta * delta * a_n * share


@triton.jit
def welford_kernel(out, x, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    value = tl.load(x + at)
    ones = tl.full(value.shape, 1.0, tl.float32)
    n, mean, m2 = tl.reduce((ones, value, tl.zeros_like(value)), 1, moments)
    row = tl.arange(0, ROWS)
    tl.store(out + row, n)
    tl.store(out + ROWS + row, mean)
    tl.store(out + 2 * ROWS + row, m2 / n)


def test_reduction_of_a_tuple(device):
    x, out = random((8, 64), "fp32", 1), device.output((3, 8), "fp32")
    welford_kernel[(1,)](out.array, device.to(x), 8, 64)
    wide = x.astype(np.float64)
    expected = np.stack([np.full(8, 64.0), wide.mean(1), wide.var(1)])
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-5, atol=1e-6)


@triton.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def recurrence_kernel(out, a, b, N: tl.constexpr, BACKWARDS: tl.constexpr):
    i = tl.arange(0, N)
    _, h = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, affine, reverse=BACKWARDS)
    tl.store(out + i, h)


@pytest.mark.parametrize("backwards", [False, True])
def test_scan_of_a_tuple(device, backwards):
    a, b = random((N,), "fp32", 2) * 0.5, random((N,), "fp32", 3)
    out = device.output(N, "fp32")
    recurrence_kernel[(1,)](out.array, device.to(a), device.to(b), N, backwards)
    h, expected = 0.0, np.zeros(N)
    for i in range(N)[:: -1 if backwards else 1]:
        h = h * float(a[i]) + float(b[i])
        expected[i] = h
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)


@triton.jit
def classify(x, y):
    if x > y:
        return x - y, 1
    else:
        return y - x, 0


@triton.jit
def mapped_kernel(out, sign, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    far, which = tl.map_elementwise(classify, tl.load(x + i), tl.load(y + i))
    tl.store(out + i, far)
    tl.store(sign + i, which)


def test_map_elementwise_with_branches(device):
    x, y = ints(N, 4), ints(N, 5)
    out, sign = device.output(N, "i32"), device.output(N, "i32")
    mapped_kernel[(1,)](out.array, sign.array, device.to(x), device.to(y), N)
    np.testing.assert_array_equal(out.numpy(), np.abs(x - y))
    np.testing.assert_array_equal(sign.numpy(), x > y)


@triton.jit
def static_kernel(out, x, N: tl.constexpr, TERMS: tl.constexpr, NAMES: tl.constexpr):
    tl.static_print("terms", TERMS)
    tl.static_assert(len(NAMES) == TERMS, "a name per term")
    i = tl.arange(0, N)
    value = tl.load(x + i)
    total = tl.zeros([N], tl.float32)
    for term in tl.static_range(TERMS - 1, -1, -1):
        if NAMES[term] == "square":
            total = total * 2 + value * value
        elif NAMES[term] == "one":
            total = total * 2 + 1
        else:
            total = total * 2 + value
    tl.device_assert(total == total, "NaN")
    tl.store(out + i, total)


def test_static_range_over_names(device):
    x, out = random((N,), "fp32", 6), device.output(N, "fp32")
    static_kernel[(1,)](out.array, device.to(x), N, 3, ("square", "one", "plain"), debug=True)
    np.testing.assert_allclose(out.numpy(), (x * 2 + 1) * 2 + x * x, rtol=1e-6, atol=1e-6)


@triton.jit
def pairs(x, y):
    return (x + y, (x - y, x * y))


@triton.jit
def nested_kernel(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    both = pairs(tl.load(x + i), tl.load(y + i))
    total, (less, product) = both
    tl.store(out + i, total + both[1][0])
    tl.store(out + N + i, less if N > 1 else total)
    a, b = product, total
    a, b = b, a
    tl.store(out + 2 * N + i, a)
    tl.store(out + 3 * N + i, b)


def test_nested_tuples(device):
    x, y, out = ints(N, 7), ints(N, 8), device.output((4, N), "i32")
    nested_kernel[(1,)](out.array, device.to(x), device.to(y), N)
    np.testing.assert_array_equal(out.numpy(), [2 * x, x - y, x + y, x * y])


@triton.jit
def tuple_argument_kernel(out, arrays, scales, shape, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for k in tl.static_range(len(arrays)):
        total += tl.load(arrays[k] + i, mask=i < shape[0], other=1.0) * scales[k]
    tl.store(out + i, total)


def test_tuples_of_arrays(device):
    xs, out = [random((N,), "fp32", 10 + k) for k in range(3)], device.output(N, "fp32")
    arrays = tuple(device.to(x) for x in xs)
    tuple_argument_kernel[(1,)](out.array, arrays, (0.5, 2.0, -1.0), (200, 1), N)
    kept = [np.where(np.arange(N) < 200, x, 1.0) for x in xs]
    np.testing.assert_allclose(
        out.numpy(), 0.5 * kept[0] + 2 * kept[1] - kept[2], rtol=1e-5, atol=1e-6
    )


@triton.jit
def sorted_kernel(out, x, R: tl.constexpr, C: tl.constexpr, DOWN: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, R)[:, None]
    value = tl.load(x + rows * C + tl.arange(0, C)[None, :])
    tl.store(out + rows * C + tl.arange(0, C)[None, :], tl.sort(value, 1, DOWN))
    best = tl.topk(value, K)
    tl.store(out + R * C + rows * K + tl.arange(0, K)[None, :], best)
    tl.store(
        out + R * C + R * K + rows * C + tl.arange(0, C)[None, :],
        tl.flip(tl.sort(value, descending=not DOWN), 1),
    )


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("dtype", ["i32", "fp32"])
def test_sort_topk_flip(device, down, dtype):
    R, C, K = 4, 32, 8
    x = random((R, C), "fp32", 20) if dtype == "fp32" else ints(R * C, 21).reshape(R, C)
    out = device.output(R * C * 2 + R * K, dtype)
    sorted_kernel[(1,)](out.array, device.to(x), R, C, down, K)
    up = np.sort(x, 1)
    wanted = up[:, ::-1] if down else up
    got = out.numpy()
    np.testing.assert_array_equal(got[: R * C].reshape(R, C), wanted)
    np.testing.assert_array_equal(got[R * C : R * C + R * K].reshape(R, K), up[:, ::-1][:, :K])
    np.testing.assert_array_equal(got[R * C + R * K :].reshape(R, C), wanted)


@triton.jit
def counted_kernel(out, x, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    counts = tl.histogram(tl.load(x + i), BINS, mask=i < n)
    tl.store(out + tl.arange(0, BINS), counts)
    tl.store(out + BINS + i, tl.gather(counts, tl.load(x + i), 0))


def test_histogram_and_gather(device):
    x, out = ints(N, 22, 0, 16), device.output(16 + N, "i32")
    counted_kernel[(1,)](out.array, device.to(x), 200, N, 16)
    counts = np.bincount(x[:200], minlength=16)
    np.testing.assert_array_equal(out.numpy()[:16], counts)
    np.testing.assert_array_equal(out.numpy()[16:], counts[x])


@triton.jit
def asm_kernel(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    high, low = tl.inline_asm_elementwise(
        "{ mul.hi.s32 $0, $2, $3; mul.lo.s32 $1, $2, $3; }",
        "=r,=r,r,r",
        [tl.load(x + i), tl.load(y + i)],
        dtype=(tl.int32, tl.int32),
        is_pure=True,
        pack=1,
    )
    tl.store(out + i, high)
    tl.store(out + N + i, low)


def test_inline_asm_of_two_results(device):
    if device.name == "cpu":
        pytest.skip("assembly is for GPUs")
    x, y = ints(N, 23, -(2**31), 2**31), ints(N, 24, -(2**31), 2**31)
    out = device.output((2, N), "i32")
    asm_kernel[(1,)](out.array, device.to(x), device.to(y), N)
    product = x.astype(np.int64) * y
    np.testing.assert_array_equal(out.numpy()[0], product >> 32)
    np.testing.assert_array_equal(out.numpy()[1], product.astype(np.int32))


@triton.jit
def block_pointer_kernel(out, x, M, K, BM: tl.constexpr, BK: tl.constexpr):
    source = tl.make_block_ptr(x, (M, K), (K, 1), (0, 0), (BM, BK), order=(1, 0))
    turned = tl.make_block_ptr(out, (K, M), (M, 1), (0, 0), (BK, BM), (1, 0))
    for _ in range(0, tl.cdiv(K, BK)):
        tile = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        tl.store(turned, tl.trans(tile), boundary_check=(0, 1))
        source = tl.advance(source, (0, BK))
        turned = turned.advance((BK, 0))


def test_block_pointers_that_advance(device):
    M, K = 30, 75
    x, out = random((M, K), "fp16", 25), device.output((K, M), "fp16")
    block_pointer_kernel[(1,)](out.array, device.to(x), M, K, 32, 16)
    np.testing.assert_array_equal(out.numpy(), x.T)


@triton.jit
def both_descriptors_kernel(out, host, M, COLS: tl.constexpr, B: tl.constexpr):
    inner = tl.make_tensor_descriptor(out, [M, COLS], [COLS, 1], [B, B])
    row = tl.program_id(0) * B
    for col in range(0, COLS, B):
        tile = host.load([row, col])
        inner.store([row, col], tile * 2 + host.shape[0])


def test_descriptors_of_host_and_kernel(device):
    """A kernel loads by a descriptor that it was given and stores by one that it makes."""
    M, COLS, B = 40, 64, 16
    x, out = random((M, COLS), "fp32", 26), device.output((M, COLS), "fp32")
    given = TensorDescriptor.from_tensor(device.to(x), [B, B])
    both_descriptors_kernel[(triton.cdiv(M, B),)](out.array, given, M, COLS, B)
    np.testing.assert_allclose(out.numpy(), x * 2 + M, rtol=1e-6)


@triton.jit
def atomics_kernel(total, largest, slots, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(total, tl.sum(value), sem="relaxed", scope="gpu")
    tl.atomic_max(largest, tl.max(value, 0), sem="acq_rel", scope="sys")
    old = tl.atomic_xchg(slots + tl.program_id(0), tl.program_id(0) + 1, sem="release")
    tl.atomic_cas(slots + tl.num_programs(0) + tl.program_id(0), 7, old - 1, sem="acquire")
    tl.atomic_or(slots + 2 * tl.num_programs(0), 1 << tl.program_id(0), scope="gpu")


def test_atomics_of_all_orders(device):
    n, B = 1000, 128
    x, programs = ints(n, 27), 8
    total, largest = device.to(np.zeros(1, np.int32)), device.to(np.full(1, -99, np.int32))
    slots = np.zeros(2 * programs + 1, np.int32)
    slots[programs : 2 * programs : 2] = 7
    given = device.to(slots)
    atomics_kernel[(programs,)](total, largest, given, device.to(x), n, B)
    fetched = [device.numpy(array) for array in (total, largest, given)]
    assert (fetched[0][0], fetched[1][0]) == (x.sum(), max(x.max(), 0))
    np.testing.assert_array_equal(fetched[2][:programs], np.arange(1, programs + 1))
    np.testing.assert_array_equal(fetched[2][programs : 2 * programs], [-1, 0] * (programs // 2))
    assert fetched[2][-1] == 2**programs - 1


@triton.jit
def libdevice_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(out + i, libdevice.asin(value * 0.5))
    tl.store(out + N + i, tl.extra.cuda.libdevice.hypot(value, 2.0))
    tl.store(out + 2 * N + i, libdevice.pow(tl.abs(value), 3.0))
    tl.store(out + 3 * N + i, libdevice.round(value * 4) + libdevice.isnan(value).to(tl.float32))


def test_libdevice(device):
    """Four functions of libdevice agree with NumPy."""
    x, out = np.clip(random((N,), "fp32", 28), -1.9, 1.9), device.output((4, N), "fp32")
    libdevice_kernel[(1,)](out.array, device.to(x), N)
    wide = x.astype(np.float64)
    away = np.sign(wide) * np.floor(np.abs(wide * 4) + 0.5)
    expected = [np.arcsin(wide * 0.5), np.hypot(wide, 2), np.abs(wide) ** 3, away]
    np.testing.assert_allclose(out.numpy(), expected, rtol=3e-6, atol=1e-6)


@triton.jit(noinline=True)
def apart(x, y):
    return tl.maximum(x, y) * 2


@triton.jit
def loops_kernel(out, x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    steps = 0
    while tl.max(value, 0) < n:
        value = apart(value, 1)
        steps += 1
        if steps == 6:
            break
    for k in tl.range(3, num_stages=2, loop_unroll_factor=2):
        if k == 1:
            continue
        value += k
    tl.store(out + i, value)
    tl.store(out + N, steps)


def test_loops_that_end_early(device):
    x, out = ints(N, 29, -20, 3), device.output(N + 1, "i32")
    loops_kernel[(1,)](out.array, device.to(x), 1000, N)
    value, steps = x.copy(), 0
    while value.max() < 1000:
        value, steps = np.maximum(value, 1) * 2, steps + 1
        if steps == 6:
            break
    np.testing.assert_array_equal(out.numpy(), [*(value + 2), steps])


@triton.jit
def shapes_kernel(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    both = tl.join(a, b)
    tl.static_assert(both.shape[1] == 2)
    first, second = both.permute(1, 0).reshape(2, N).trans().split()
    mixed = tl.interleave(first, second)
    tl.store(out + tl.arange(0, 2 * N), mixed)
    cube = a.reshape([4, N // 4]).expand_dims(1).broadcast_to(4, 2, N // 4)
    tl.store(out + 2 * N + tl.arange(0, 2 * N), tl.ravel(cube))
    tl.store(out + 4 * N + tl.arange(0, 2 * N), tl.cat(a, b, can_reorder=True))


def test_shapes(device):
    """Interleaving, broadcasting and splitting move every element as in NumPy."""
    x, y, out = ints(N, 30), ints(N, 31), device.output(6 * N, "i32")
    shapes_kernel[(1,)](out.array, device.to(x), device.to(y), N)
    got = out.numpy()
    np.testing.assert_array_equal(got[: 2 * N], np.stack([x, y], 1).ravel())
    np.testing.assert_array_equal(got[2 * N : 4 * N], x.reshape(4, 1, -1).repeat(2, 1).ravel())
    np.testing.assert_array_equal(np.sort(got[4 * N :]), np.sort(np.concatenate([x, y])))


@triton.jit
def scaled_kernel(out, a, a_scale, b, b_scale, M: tl.constexpr, K: tl.constexpr):
    i, k = tl.arange(0, M)[:, None], tl.arange(0, K)[None, :]
    s = tl.arange(0, K // 32)[None, :]
    left = tl.load(a + i * K + k)
    right = tl.load(b + tl.arange(0, K)[:, None] * M + tl.arange(0, M)[None, :])
    product = tl.dot_scaled(
        left,
        tl.load(a_scale + i * (K // 32) + s),
        "e5m2",
        right,
        tl.load(b_scale + i * (K // 32) + s),
        "e5m2",
        out_dtype=tl.float32,
    )
    tl.store(out + i * M + tl.arange(0, M)[None, :], product)


def test_dot_scaled(device):
    M, K = 32, 64
    a, b = random((M, K), "fp8e5", 32), random((K, M), "fp8e5", 33)
    rng = np.random.default_rng(34)
    scales = [rng.integers(120, 134, (M, K // 32)).astype(np.uint8) for _ in range(2)]
    out = device.output((M, M), "fp32")
    arrays = [device.to(v) for v in (a, scales[0], b, scales[1])]
    scaled_kernel[(1,)](out.array, *arrays, M, K)
    powers = [np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, 1) for s in scales]
    expected = (a.astype(np.float64) * powers[0]) @ (b.astype(np.float64) * powers[1].T)
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=1e-2)


@triton.jit
def types_kernel(out, x, n: tl.int64, flag, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i).to(T).to(tl.float32)
    tl.static_assert(n.dtype == tl.int64)
    tl.static_assert(flag.type.is_int1() if hasattr(flag, "type") else True)
    bits = value.to(tl.int32, bitcast=True)
    exponent = ((bits >> 23) & 0xFF) - 127
    value = tl.where((exponent > -2) & flag, tl.cast(exponent, tl.float32), value)
    tl.store(out + i, value + tl.full((), n, tl.float32))


@pytest.mark.parametrize("flag", [True, False])
def test_types_and_bits(device, flag):
    x, out = random((N,), "fp32", 35), device.output(N, "fp32")
    types_kernel[(1,)](out.array, device.to(x), 3, flag, N, tl.float16)
    value = x.astype(np.float16).astype(np.float32)
    exponent = ((value.view(np.int32) >> 23) & 0xFF) - 127
    expected = np.where((exponent > -2) & flag, exponent.astype(np.float32), value) + np.float32(3)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def random_kernel(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(seed, i))
    a, b, c, d = tl.randint4x(seed, i)
    same = (a == tl.randint(seed, i)) & ((b ^ c ^ d) == (d ^ c ^ b))
    tl.store(out + N + i, same.to(tl.float32))


def test_random_numbers(device):
    out = device.output((2, N), "fp32")
    random_kernel[(1,)](out.array, 1234, N)
    got = out.numpy()
    assert (got[0] >= 0).all() and (got[0] < 1).all() and 0.4 < got[0].mean() < 0.6
    assert (got[1] == 1).all() and len(np.unique(got[0])) > N - 4


@triton.jit
def types_of_results_kernel(out, x, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, N)
    short = tl.load(x + i).to(tl.int8)
    both = tl.join(short, short.to(tl.uint8))
    tl.static_assert(both.dtype == tl.int8)
    tl.static_assert(tl.join(short.to(tl.uint8), short).dtype == tl.uint8)
    longer = tl.cat(short.to(tl.uint8), short, can_reorder=True)
    tl.static_assert(longer.dtype == tl.uint8)
    best = tl.topk(short, K)
    tl.static_assert(best.dtype == tl.int32)
    tl.static_assert(tl.topk(short, N).dtype == tl.int8)
    tl.static_assert(tl.topk(short.to(tl.float16), K, descending=False).dtype == tl.float32)
    tl.static_assert(tl.sort(short).dtype == tl.int8)
    tl.store(out + tl.arange(0, K), best * 1000)
    tl.store(out + K + i, tl.sum(both.to(tl.int32), 1))
    tl.store(out + K + N, tl.sum(longer.to(tl.int32), 0))


def test_types_of_results(device):
    """`topk` widens as the `max` in it does; `join` and `cat` take the type of the first."""
    K, count = 8, 64
    x, out = ints(count, 40, -128, 128), device.output(count + K + 1, "i32")
    types_of_results_kernel[(1,)](out.array, device.to(x), count, K)
    got = out.numpy()
    np.testing.assert_array_equal(got[:K], np.sort(x)[::-1][:K] * 1000)
    np.testing.assert_array_equal(got[K:-1], 2 * x)
    assert got[-1] == 2 * x.astype(np.uint8).astype(np.int64).sum()
