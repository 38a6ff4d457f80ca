"""Arrays whose elements, or bytes, cannot be counted in 32 bits: every access to them reaches what its index says.

Most of such an array is never touched, so that it costs no memory but on a GPU.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random

FAR = 2**31


class Far:
    """An array of which a test looks at a few places; `array` goes to kernels."""

    def __init__(self, device, count, dtype):
        self.device, self.array = device, device.empty(count, dtype)

    def put(self, at, values):
        self.array[at : at + len(values)] = self.device.to(values)
        return values

    def get(self, at, count):
        return np.array(self.device.numpy(self.array[at : at + count]))


@triton.jit
def last_rows_kernel(
    out, a, b, first, M, K: tl.constexpr, STRIDE: tl.constexpr, BM: tl.constexpr,
    CARRIES: tl.constexpr,
):  # fmt: skip
    rows, n, k = first + tl.arange(0, BM), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros([BM, 64], dtype=tl.float32)
    x_ptrs = a + rows[:, None] * STRIDE + k[None, :]
    for step in range(0, K, 32):
        if CARRIES:
            x = tl.load(x_ptrs, mask=(rows[:, None] < M) & (step + k < K)[None, :], other=0.0)
            x_ptrs += 32
        else:
            x_ptrs = a + rows[:, None] * STRIDE + (step + k)[None, :]
            x = tl.load(x_ptrs, mask=rows[:, None] < M, other=0.0)
        total = tl.dot(x, tl.load(b + (step + k)[:, None] * 64 + n[None, :]), total)
    m = tl.arange(0, BM)
    tl.store(out + m[:, None] * 64 + n[None, :], total)


@pytest.mark.parametrize("carries", [False, True])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("stride, missing", [(64, 1), (64, 3), (256, 17)])
def test_rows_after_the_last_one(device, stride, missing, warps, carries):
    """The indices of rows that the mask takes away wrap around; no other address may follow from theirs."""
    rows, depth, block = FAR // stride - missing, 64, 64
    first = rows - 40
    a = Far(device, rows * stride, np.float16)
    x = a.put(first * stride, random((40 * stride,), "fp16", 1)).reshape(40, stride)[:, :depth]
    b, out = random((depth, 64), "fp16", 2), device.output((block, 64), "fp32")
    last_rows_kernel[(1,)](
        out.array, a.array, device.to(b), first, rows, K=depth, STRIDE=stride, BM=block,
        CARRIES=carries, num_warps=warps,
    )  # fmt: skip
    expected = np.zeros((block, 64))
    expected[:40] = x.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)


@triton.jit
def copy_kernel(out, x, start, stop, STEP: tl.constexpr, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = start.to(DTYPE) + (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(DTYPE)
    at = i * STEP
    values = tl.load(x + at, mask=i < stop, other=-1)
    tl.store(out + at, values, mask=i < stop)


@pytest.mark.parametrize(
    "dtype, element, start, step",
    [
        (tl.int32, np.int32, FAR // 4 - 100, 1),  # bytes beyond 31 bits
        (tl.int32, np.int8, FAR - 768, 1),
        (tl.int32, np.int16, FAR - 769, 1),
        (tl.int32, np.int32, FAR // 3 - 601, 3),
        (tl.uint32, np.int8, FAR - 100, 1),
        (tl.uint32, np.int32, FAR // 2 - 128, 2),
        (tl.int64, np.int8, FAR - 128, 1),
        (tl.int64, np.int32, FAR - 100, 1),
        (tl.int64, np.int16, FAR // 2, 4),
        (tl.int64, np.int64, FAR // 16, 17),
        (tl.uint64, np.int8, 2 * FAR - 111, 1),
    ],
)
def test_copies(device, dtype, element, start, step):
    """Elements around the place where an index, or an offset in bytes, leaves 31 or 32 bits."""
    count = 601
    size = (start + count) * step
    x, out = Far(device, size, element), Far(device, size, element)
    values = np.random.default_rng(1).integers(-100, 100, count * step).astype(element)
    x.put(start * step, values)
    out.put(start * step, np.zeros(count * step, element))
    copy_kernel[(3,)](
        out.array, x.array, start, start + count, STEP=step, DTYPE=dtype, BLOCK=256
    )  # fmt: skip
    expected = np.where(np.arange(count * step) % step == 0, values, 0)
    np.testing.assert_array_equal(out.get(start * step, count * step), expected)


@triton.jit
def middle_kernel(out, x, n, BLOCK: tl.constexpr, STRIDE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    back = n - 1 - i
    tl.store(out - i * STRIDE, tl.load(x - back * STRIDE, mask=i < n, other=0), mask=i < n)


def test_indices_before_the_pointer(device):
    """Pointers to the end of an array, and indices that go down from there beyond 2^31 bytes."""
    stride, n = 2**22, 500
    size = stride * n
    x, out = Far(device, size, np.int32), Far(device, size, np.int32)
    values = np.random.default_rng(2).integers(-100, 100, n).astype(np.int32)
    for i in range(n):
        x.put(stride * i, values[i : i + 1])
    last = stride * (n - 1)
    middle_kernel[(4,)](out.array[last:], x.array[last:], n, BLOCK=128, STRIDE=stride)
    got = [out.get(last - stride * i, 1)[0] for i in range(n)]
    # Element i is read at the back-th place before the last one.
    np.testing.assert_array_equal(got, values)


@triton.jit(do_not_specialize=["first"])
def shifted_kernel(out, x, first, LEAST: tl.constexpr):
    i = tl.arange(0, 64)
    tl.store(out + i, tl.load(x - LEAST + first + i))


@pytest.mark.parametrize("least", [-(2**31), -(2**31) + 1, 2**31 - 65, -(2**40), 2**40])
def test_numbers_that_pointers_go_back(device, least):
    """The opposite of a number of 32 bits may have more."""
    x, out = random((64,), "fp32", 5), device.output((64,), "fp32")
    shifted_kernel[(1,)](out.array, device.to(x), least, LEAST=least)
    np.testing.assert_array_equal(out.numpy(), x)


@triton.jit
def atomic_kernel(x, old, table, n, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(table + i, mask=i < n, other=0)
    at = at.to(tl.int64) * 64 if WIDE else at * 64
    tl.store(old + i, tl.atomic_add(x + at, i, mask=i < n), mask=i < n)
    tl.atomic_max(x + at + 1, i, mask=i < n, sem="relaxed")
    tl.atomic_cas(x + at + 2, tl.zeros([BLOCK], tl.int32), i)


@pytest.mark.parametrize("is_wide", [False, True])
def test_atomics(device, is_wide):
    """Atomics reach elements beyond 2^31."""
    n, block = 256, 256
    largest = FAR // 64 - 1 if not is_wide else FAR // 32
    x = Far(device, (largest + 1) * 64, np.int32)
    generator = np.random.default_rng(3)
    table = np.unique(generator.integers(0, largest, n - 1)).astype(np.int32)
    table = np.append(table, np.int32(largest))
    table = np.append(
        table, np.setdiff1d(np.arange(2 * n, dtype=np.int32), table)[: n - len(table)]
    )
    for at in table:
        x.put(int(at) * 64, np.array([int(at) % 1000, -5, 0, 0], np.int32))
    old = device.output((n,), "i32")
    atomic_kernel[(1,)](x.array, old.array, device.to(table), n, BLOCK=block, WIDE=is_wide)
    np.testing.assert_array_equal(old.numpy(), table % 1000)
    for i, at in enumerate(table):
        assert x.get(int(at) * 64, 3).tolist() == [int(at) % 1000 + i, max(-5, i), i]


@triton.jit
def block_kernel(out, x, rows, cols, stride, first, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (rows, cols), (stride, 1), (first, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (BM, cols), (cols, 1), (0, 0), (BM, BN), (1, 0))
    for _ in range(0, cols, BN):
        tile = tl.load(source, boundary_check=(0, 1))
        tl.store(target, tile, boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (0, BN))


@triton.jit
def descriptor_kernel(out, x, rows, cols, stride, first, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [stride, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [BM, cols], [cols, 1], [BM, BN])
    for at in range(0, cols, BN):
        target.store([0, at], source.load([first, at]))


@triton.jit
def gather_kernel(out, x, rows, cols, stride, first, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [stride, 1], [1, BN])
    target = tl.make_tensor_descriptor(out, [BM, cols], [cols, 1], [1, BN])
    i = tl.arange(0, BM)
    for at in range(0, cols, BN):
        target.scatter(source.gather(first + i, at), i, at)


@pytest.mark.parametrize("kernel", [block_kernel, descriptor_kernel, gather_kernel])
@pytest.mark.parametrize("stride", [2**24, 2**31 + 64])
def test_tiles(device, kernel, stride):
    """Rows of tiles that lie far apart, of which some are after the last one."""
    rows, cols, missing = (300, 48, 3) if stride < FAR else (5, 48, 12)
    first = rows - 16 + missing
    x = Far(device, (rows - 1) * stride + cols, np.int16)
    values = np.random.default_rng(4).integers(-100, 100, (16, cols)).astype(np.int16)
    values[-missing:] = 0
    for i in range(16 - missing):
        x.put((first + i) * stride, values[i])
    out = device.output((16, cols), "i16")
    kernel[(1,)](out.array, x.array, rows, cols, stride, first, BM=16, BN=32)
    np.testing.assert_array_equal(out.numpy(), values)


@triton.jit
def rows_kernel(out, x, first, rows, cols, BLOCK: tl.constexpr, WALKS: tl.constexpr):
    c = tl.arange(0, BLOCK)
    if WALKS:
        for row in range(first + tl.program_id(0), rows, tl.num_programs(0)):
            values = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
            e = tl.exp(values - tl.max(values, 0))
            tl.store(out + (row - first) * cols + c, e / tl.sum(e, 0), mask=c < cols)
    else:
        row = first + tl.program_id(0)
        values = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
        e = tl.exp(values - tl.max(values, 0))
        tl.store(out + (row - first) * cols + c, e / tl.sum(e, 0), mask=c < cols)


@pytest.mark.parametrize("walks", [False, True])
@pytest.mark.parametrize("cols", [4000, 4096])
def test_last_rows(device, cols, walks):
    """The last rows of fewer than 2^31 elements: what threads after a row's end count to is no index."""
    rows, count = (FAR - 1) // cols, 9  # the last ones begin below 2^31, and end there
    first = rows - count
    x = Far(device, rows * cols, np.float32)
    values = x.put(first * cols, random((count * cols,), "fp32", 5)).reshape(count, cols)
    out = device.output((count, cols), "fp32")
    rows_kernel[(4 if walks else count,)](
        out.array, x.array, first, rows, cols, BLOCK=4096, WALKS=walks
    )
    e = np.exp(values.astype(np.float64) - values.max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-8)


@triton.jit
def tall_kernel(out, x, rows, DTYPE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows.to(DTYPE), BN], [BN, 1], [BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + i, source.load([0, 0]))


@pytest.mark.parametrize(
    "dtype, rows",
    [
        (tl.int64, 5),
        (tl.int64, FAR + 8),
        (tl.int64, 3 * FAR // 2),
        (tl.int64, 2 * FAR + 4),
        (tl.uint32, FAR + 8),
        (tl.int64, -3),
    ],
)
def test_descriptors_of_many_rows(device, dtype, rows):
    """A size counts with all its bits."""
    x, out = random((8, 16), "fp32", 6), device.output((8, 16), "fp32")
    tall_kernel[(1,)](out.array, device.to(x), rows, DTYPE=dtype, BM=8, BN=16)
    expected = np.where(np.arange(8)[:, None] < rows, x, 0)
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def chosen_rows_kernel(out, x, rows, table, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.arange(0, BM)
    source = tl.make_tensor_descriptor(x, [rows, BN], [BN, 1], [1, BN])
    tile = source.gather(tl.load(table + i), 0)
    tl.store(out + i[:, None] * BN + tl.arange(0, BN)[None, :], tile)


@pytest.mark.parametrize("dtype", ["i32", "i64", "u32", "u64"])
def test_rows_that_there_are_not(device, dtype):
    """A row's number counts with all its bits."""
    bits, low = int(dtype[1:]), -1 if dtype[0] == "i" else 0
    table = [0, 3, low, 7, 2**31 - 1, 2 ** (bits - 1) - 1, 2 ** (32 * bits // 64), 4]
    if bits == 64:
        table[1], table[4] = 2**32 + 5, 2**63 - 2**32 + 1
    numbers = np.array(table, DTYPES[dtype])
    x, out = random((8, 16), "fp32", 7), device.output((8, 16), "fp32")
    chosen_rows_kernel[(1,)](out.array, device.to(x), 8, device.to(numbers), BM=8, BN=16)
    expected = np.array([x[n] if 0 <= n < 8 else np.zeros(16) for n in table])
    np.testing.assert_array_equal(out.numpy(), expected)
