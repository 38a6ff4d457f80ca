"""`while` loops that count, which become loops over ranges, and those that must not; `disable_licm`."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random


@triton.jit
def counting_kernel(out_ptr, start, end, STEP: tl.constexpr, KEEP: tl.constexpr):
    i = start
    steps = 0
    total = start * 0
    while tl.condition(i < end, disable_licm=KEEP):
        total += i * (end - start)
        steps += 1
        i += STEP
    tl.store(out_ptr, i)
    tl.store(out_ptr + 1, steps)
    tl.store(out_ptr + 2, total)


BOUNDS = [(0, 100), (0, 96), (7, 8), (8, 8), (9, 8), (-50, 60), (2**31 - 200, 2**31 - 128)]
BOUNDS += [(-(2**31), -(2**31) + 99), (2**40, 2**40 + 70), (-(2**40), -(2**40) + 1)]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("step", [1, 3, 32])
@pytest.mark.parametrize("keep", [False, True])
def test_counts(device, bounds, step, keep):
    """A counting loop runs as often as Python's, at the ends of the type too."""
    start, end = bounds
    out = device.output(3, "i64")
    wide = np.array([start, end]).astype(np.int64)
    bits = 32 if (wide == wide.astype(np.int32)).all() else 64
    counting_kernel[(1,)](out.array, start, end, step, keep)
    passed = range(start, end, step)
    total = sum(i * (end - start) for i in passed)
    total = (total + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    expected = [start + len(passed) * step, len(passed), total]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, np.int64))


@triton.jit
def other_kernel(out_ptr, x_ptr, n, KIND: tl.constexpr):
    """Loops that look alike, and end elsewhere."""
    i = 0
    total = 0
    if KIND == "skips":
        while i < n:
            total += tl.load(x_ptr + i)
            i += 1
            if total % 3 == 0:
                i += 1
    elif KIND == "moves the end":
        end = n
        while i < end:
            total += tl.load(x_ptr + i)
            end -= 1
            i += 1
    elif KIND == "leaves":
        while i < n:
            x = tl.load(x_ptr + i)
            if x == 9:
                break
            total += x
            i += 1
    elif KIND == "counts down":
        i = n
        while i > 0:
            i -= 1
            total = total * 3 + tl.load(x_ptr + i)
    elif KIND == "reads the next":
        while i < n:
            i += 1
            total = total * 3 + tl.load(x_ptr + i - 1) * i
    elif KIND == "nested":
        while i < n:
            j = i
            while j < n:
                total += tl.load(x_ptr + j) * (i + 1)
                j += 2
            i += 1
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, i)


def other(kind, x, n):
    """The same in Python, in 32 bits."""
    i, total, end = 0, 0, n
    if kind == "skips":
        while i < n:
            total += x[i]
            i += 2 if total % 3 == 0 else 1
    elif kind == "moves the end":
        while i < end:
            total, end, i = total + x[i], end - 1, i + 1
    elif kind == "leaves":
        while i < n and x[i] != 9:
            total, i = total + x[i], i + 1
    elif kind == "counts down":
        i = n
        while i > 0:
            i -= 1
            total = total * 3 + x[i]
    elif kind == "reads the next":
        for i in range(1, n + 1):
            total = total * 3 + x[i - 1] * i
    else:
        total = sum(x[j] * (start + 1) for start in range(n) for j in range(start, n, 2))
        i = n
    return [(total + 2**31) % 2**32 - 2**31, i]


KINDS = ["skips", "moves the end", "leaves", "counts down", "reads the next", "nested"]


@pytest.mark.parametrize("kind", KINDS)
def test_others(device, kind):
    """A loop that only seems to count computes what Python does."""
    n = 41
    x = random(n + 2, "i32", 3, low=0, high=9)
    x[30] = 9
    out = device.output(2, "i32")
    other_kernel[(1,)](out.array, device.to(x), n, kind)
    np.testing.assert_array_equal(out.numpy(), other(kind, [int(v) for v in x], n))


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, LOOP: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    k = 0
    if LOOP == "while":
        while k < K:
            at = k + tl.arange(0, BK)
            inside = (rows[:, None] < M) & (at[None, :] < K)
            x = tl.load(a + rows[:, None] * K + at[None, :], inside, 0.0)
            y = tl.load(b + at[:, None] * N + columns, (at[:, None] < K) & (columns < N), 0.0)
            total = tl.dot(x, y, total)
            k += BK
    else:
        for k in tl.range(0, K, BK, disable_licm=LOOP == "kept"):
            at = k + tl.arange(0, BK)
            inside = (rows[:, None] < M) & (at[None, :] < K)
            x = tl.load(a + rows[:, None] * K + at[None, :], inside, 0.0)
            y = tl.load(b + at[:, None] * N + columns, (at[:, None] < K) & (columns < N), 0.0)
            total = tl.dot(x, y, total)
    at = rows[:, None] * N + columns
    tl.store(c + at, total, (rows[:, None] < M) & (columns[None, :] < N))


@pytest.mark.parametrize("loop", ["while", "kept", "range"])
@pytest.mark.parametrize("shape", [(128, 128, 256), (100, 80, 208), (64, 64, 32)], ids=str)
def test_gemm_in_a_while_loop(device, loop, shape):
    """All three have loads of later iterations in flight."""
    M, N, K = shape
    a, b = random((M, K), "fp16", 4), random((K, N), "fp16", 5)
    out = device.output((M, N), "fp32")
    kernel = matmul_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 64))](
        device.to(a), device.to(b), out.array, M, N, K, 64, 64, 32, loop
    )
    check_gemm(out.numpy(), a, b)
    if device.arch:
        messages = [remark.message for remark in kernel.remarks]
        ahead = ("load is converted to TMA", "load is prefetched")
        assert any(text.startswith(ahead) for text in messages), messages
