"""Atomics over dtypes, orders, masks and shapes, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def rmw_kernel(
    out_ptr, old_ptr, x_ptr, index_ptr, size, N: tl.constexpr, OP: tl.constexpr, OLD: tl.constexpr
):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    mask = offsets < size
    x = tl.load(x_ptr + offsets, mask=mask)
    target = out_ptr + tl.load(index_ptr + offsets, mask=mask)
    if OP == "add":
        old = tl.atomic_add(target, x, mask=mask)
    elif OP == "max":
        old = tl.atomic_max(target, x, mask=mask)
    elif OP == "min":
        old = tl.atomic_min(target, x, mask=mask)
    elif OP == "and":
        old = tl.atomic_and(target, x, mask=mask)
    elif OP == "or":
        old = tl.atomic_or(target, x, mask=mask)
    elif OP == "xor":
        old = tl.atomic_xor(target, x, mask=mask)
    if OLD:
        tl.store(old_ptr + offsets, old, mask=mask)


UFUNC = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
INTS = ["i32", "u32", "i64", "u64"]
CASES = [(op, dtype) for op in UFUNC for dtype in INTS]
CASES += [(op, dtype) for op in ("add", "max", "min") for dtype in ("fp32", "fp64")]
CASES += [("add", "fp16"), ("add", "bf16")]


def operands(op, dtype, size, seed):
    """Sums stay small enough to be exact in any order."""
    kind = np.dtype(DTYPES[dtype])
    generator = np.random.default_rng(seed)
    if kind.kind in "iu" and op != "add":
        info = np.iinfo(kind)
        return generator.integers(info.min, info.max, size, kind, endpoint=True)
    if op == "add":
        low = 0 if kind.kind == "u" else -4
        return generator.integers(low, 5, size).astype(kind)
    return generator.standard_normal(size).astype(kind)


@pytest.mark.parametrize("op, dtype", CASES)
def test_scattered(device, op, dtype):
    """Many elements have one address; 300 elements in tiles of 128 leave lanes without one."""
    x = operands(op, dtype, 300, seed=51)
    index = random(300, "i32", seed=52, low=0, high=20)
    start = operands(op, dtype, 20, seed=53)
    out = device.to(start.copy())
    rmw_kernel[(3,)](out, out, device.to(x), device.to(index), 300, 128, op, False)
    expected = start.astype(np.float64) if op == "add" and dtype in ("fp16", "bf16") else start
    UFUNC[op].at(expected, index, x.astype(expected.dtype))
    np.testing.assert_array_equal(device.numpy(out).astype(expected.dtype), expected)


@pytest.mark.parametrize(
    "op, dtype", [("add", "i32"), ("max", "fp32"), ("min", "i64"), ("add", "bf16")]
)
@pytest.mark.parametrize("n", [2, 64, 512])
def test_old_values(device, op, dtype, n):
    x, start = operands(op, dtype, n, seed=54), operands(op, dtype, n, seed=55)
    index = np.random.default_rng(56).permutation(n).astype(np.int32)
    out, old = device.to(start.copy()), device.output(n, dtype)
    rmw_kernel[(1,)](out, old.array, device.to(x), device.to(index), n, n, op, True)
    np.testing.assert_array_equal(old.numpy(), start[index])
    np.testing.assert_array_equal(device.numpy(out)[index], UFUNC[op](start[index], x))


@triton.jit
def orders_kernel(out_ptr, old_ptr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    ticket = tl.atomic_add(out_ptr, 1, sem=SEM, scope=SCOPE)
    tl.store(old_ptr + ticket, tl.program_id(0))
    tl.atomic_max(out_ptr + 1, tl.program_id(0), sem=SEM, scope=SCOPE)
    tl.atomic_xchg(out_ptr + 2, 7, sem=SEM, scope=SCOPE)


@pytest.mark.parametrize("sem", [None, "relaxed", "acquire", "release", "acq_rel"])
@pytest.mark.parametrize("scope", [None, "gpu", "cta", "sys"])
def test_orders_and_scopes(device, sem, scope):
    """Every order and scope of a read-modify-write counts each program once."""
    programs = 1 if scope == "cta" else 40
    out, seen = device.to(np.zeros(3, np.int32)), device.output(programs, "i32")
    orders_kernel[(programs,)](out, seen.array, sem, scope)
    np.testing.assert_array_equal(device.numpy(out), [programs, programs - 1, 7])
    np.testing.assert_array_equal(np.sort(seen.numpy()), np.arange(programs))


@triton.jit
def exchange_kernel(out_ptr, old_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    old = tl.atomic_xchg(out_ptr + offsets, tl.load(x_ptr + offsets), mask=offsets % 3 != 0)
    tl.store(old_ptr + offsets, old)


@pytest.mark.parametrize("dtype", ["i32", "u64", "fp32", "fp64"])
def test_exchange(device, dtype):
    """Exchanges under a mask store new values and return the old ones."""
    x, start = random(64, dtype, seed=57), random(64, dtype, seed=58)
    out, old = device.to(start.copy()), device.output(64, dtype)
    exchange_kernel[(1,)](out, old.array, device.to(x), 64)
    chosen = np.arange(64) % 3 != 0
    np.testing.assert_array_equal(device.numpy(out), np.where(chosen, x, start))
    np.testing.assert_array_equal(old.numpy(), np.where(chosen, start, 0))


@triton.jit
def cas_kernel(out_ptr, old_ptr, expected_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    expected, x = tl.load(expected_ptr + offsets), tl.load(x_ptr + offsets)
    tl.store(old_ptr + offsets, tl.atomic_cas(out_ptr + offsets, expected, x))


@pytest.mark.parametrize("dtype", ["i16", "fp16", "bf16", "i32", "fp32", "i64", "u64", "fp64"])
def test_compare_and_swap(device, dtype):
    start, x = random(128, dtype, seed=59), random(128, dtype, seed=60)
    expected = np.where(np.arange(128) % 2 == 0, start, x)
    out, old = device.to(start.copy()), device.output(128, dtype)
    cas_kernel[(1,)](out, old.array, device.to(expected), device.to(x), 128)
    np.testing.assert_array_equal(old.numpy(), start)
    np.testing.assert_array_equal(device.numpy(out), np.where(start == expected, x, start))


@triton.jit
def scalar_kernel(out_ptr, old_ptr, value):
    old = tl.atomic_max(out_ptr, value)
    tl.store(old_ptr, old)
    swapped = tl.atomic_cas(out_ptr + 1, old, value)
    tl.store(old_ptr + 1 + tl.arange(0, 4), swapped + tl.zeros((4,), tl.float32))


def test_scalars(device):
    """An atomic on a scalar returns the old value to every thread."""
    out, old = device.to(np.array([-2.5, -2.5], np.float32)), device.output(5, "fp32")
    scalar_kernel[(1,)](out, old.array, -1.25)
    np.testing.assert_array_equal(device.numpy(out), [-1.25, -1.25])
    np.testing.assert_array_equal(old.numpy(), np.full(5, -2.5))


@triton.jit
def masked_scalar_kernel(out_ptr, old_ptr):
    program = tl.program_id(0)
    tl.store(old_ptr + program, tl.atomic_add(out_ptr, 5, mask=program % 3 == 0))
    tl.atomic_xchg(out_ptr + 1 + program, program, mask=program != 4)


def test_masked_scalars(device):
    out, old = device.to(np.full(13, -1, np.int32)), device.output(12, "i32")
    masked_scalar_kernel[(12,)](out, old.array)
    programs = np.arange(12)
    expected = np.where(programs != 4, programs, -1)
    np.testing.assert_array_equal(device.numpy(out), np.append(19, expected))
    chosen = old.numpy()[programs % 3 == 0]
    np.testing.assert_array_equal(np.sort(chosen), [-1, 4, 9, 14])
    np.testing.assert_array_equal(old.numpy()[programs % 3 != 0], 0)


@triton.jit
def matrix_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    (out_ptr + columns + 0 * rows).atomic_add(x, mask=x > 0, sem="relaxed")


def test_columns_of_a_matrix(device):
    x = random((32, 16), "fp64", seed=61)
    out = device.to(np.zeros(16))
    matrix_kernel[(1,)](out, device.to(x), 32, 16)
    np.testing.assert_allclose(device.numpy(out), np.where(x > 0, x, 0).sum(0), rtol=1e-12)


@triton.jit
def narrow_kernel(out_ptr, OP: tl.constexpr):
    if OP == "add":
        tl.atomic_add(out_ptr, 1)
    elif OP == "xchg":
        tl.atomic_xchg(out_ptr, 1)
    else:
        tl.atomic_cas(out_ptr, 0, 1)


@pytest.mark.parametrize(
    "op, dtype", [("add", "i8"), ("add", "i16"), ("xchg", "fp16"), ("cas", "i8")]
)
def test_narrow_types_are_refused(op, dtype):
    with pytest.raises(triton.CompilationError, match=f"`atomic_{op}` does not support"):
        narrow_kernel[(1,)](np.zeros(1, DTYPES[dtype]), op)


@triton.jit
def unknown_order_kernel(out_ptr):
    tl.atomic_add(out_ptr, 1, sem="strong")


def test_unknown_orders_are_named():
    with pytest.raises(triton.CompilationError, match="memory semantic"):
        unknown_order_kernel[(1,)](np.zeros(1, np.int32))
