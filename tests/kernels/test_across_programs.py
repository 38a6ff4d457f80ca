"""Results that many programs make together: locks, tickets, two launches, persistent loops.

Argmax under a lock, the last program to arrive (by a ticket) ends a sum, a grid-stride dot product
by atomics, a variance in two launches, a barrier of the whole grid. Indices exact; sums within
1e-5 of the sum of magnitudes.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def locked_argmax_kernel(x_ptr, lock_ptr, best_ptr, where_ptr, n, BLOCK: tl.constexpr):
    """`best` starts at -inf and `where` at n; of equal values the first one wins."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=float("-inf"))
    value, index = tl.max(x, axis=0, return_indices=True)
    index += pid * BLOCK
    while tl.atomic_cas(lock_ptr, 0, 1) != 0:
        pass
    best, where = tl.load(best_ptr), tl.load(where_ptr)
    if value > best or (value == best and index < where):
        tl.store(best_ptr, value)
        tl.store(where_ptr, index)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def last_arrival_kernel(
    x_ptr, parts_ptr, ticket_ptr, out_ptr, n, BLOCK: tl.constexpr, MAX_PROGRAMS: tl.constexpr
):
    """Deterministic: the last program adds the parts in their order."""
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(pid * BLOCK, n, programs * BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(parts_ptr + pid, tl.sum(acc))
    tl.debug_barrier()
    arrived = tl.atomic_add(ticket_ptr, 1, sem="acq_rel")
    if arrived == programs - 1:
        p = tl.arange(0, MAX_PROGRAMS)
        parts = tl.load(parts_ptr + p, mask=p < programs, other=0.0, cache_modifier=".cg")
        tl.store(out_ptr, tl.sum(parts))
        tl.atomic_xchg(ticket_ptr, 0)


@triton.jit
def dot_product_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], dtype=out_ptr.dtype.element_ty)
    for start in tl.range(
        tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=2, loop_unroll_factor=2
    ):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(acc.dtype)
        y = tl.load(y_ptr + at, mask=at < n, other=0.0).to(acc.dtype)
        acc += x * y
    tl.atomic_add(out_ptr, tl.sum(acc, axis=0), sem="relaxed")


@triton.jit
def combine_moments(count_a, mean_a, m2_a, count_b, mean_b, m2_b):
    count = count_a + count_b
    share = tl.where(count == 0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return count, mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share


@triton.jit
def moments_kernel(x_ptr, count_ptr, mean_ptr, m2_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    ones = tl.where(at < n, 1.0, 0.0)
    count, mean, m2 = tl.reduce((ones, x, tl.zeros_like(x)), 0, combine_moments)
    tl.store(count_ptr + pid, count)
    tl.store(mean_ptr + pid, mean)
    tl.store(m2_ptr + pid, m2)


@triton.jit
def join_moments_kernel(count_ptr, mean_ptr, m2_ptr, out_ptr, parts, WIDTH: tl.constexpr):
    i = tl.arange(0, WIDTH)
    count = tl.load(count_ptr + i, mask=i < parts, other=0.0)
    mean = tl.load(mean_ptr + i, mask=i < parts, other=0.0)
    m2 = tl.load(m2_ptr + i, mask=i < parts, other=0.0)
    count, mean, m2 = tl.reduce((count, mean, m2), 0, combine_moments)
    tl.store(out_ptr, mean)
    tl.store(out_ptr + 1, m2 / count)


@triton.jit
def wait_for_all(counter_ptr, target):
    tl.debug_barrier()
    tl.atomic_add(counter_ptr, 1, sem="release")
    while tl.atomic_add(counter_ptr, 0, sem="acquire") < target:
        pass
    tl.debug_barrier()


@triton.jit
def grid_normalize_kernel(x_ptr, sum_ptr, counter_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """x over its norm: all programs add their squares, wait, and scale what they hold."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.atomic_add(sum_ptr, tl.sum(x * x))
    wait_for_all(counter_ptr, tl.num_programs(0))
    total = tl.load(sum_ptr, cache_modifier=".cg", volatile=True)
    tl.store(out_ptr + at, x * tl.rsqrt(total), mask=at < n)


@triton.jit
def locked_columns_kernel(
    x_ptr, sums_ptr, lock_ptr, seen_ptr, rows, columns, GROUPS: tl.constexpr, ROWS: tl.constexpr,
    COLS: tl.constexpr,
):  # fmt: skip
    """Column sums into GROUPS rows; the first to come stores, the others add, under a lock each."""
    pid = tl.program_id(0)
    r, c = pid * ROWS + tl.arange(0, ROWS), tl.arange(0, COLS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    part = tl.sum(tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask, other=0.0), axis=0)
    group = pid % GROUPS
    lock, seen = lock_ptr + group, seen_ptr + group
    sums = sums_ptr + group * columns + c
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(seen) == 0:
        tl.atomic_xchg(seen, 1)
    else:
        part += tl.load(sums, mask=c < columns)
    tl.store(sums, part, mask=c < columns)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_locked_argmax(device, dtype, num_warps):
    n, block = 5000, 128
    x = np.round(random(n, dtype, 1) * 3)
    best, where = device.to(np.full(1, -np.inf, x.dtype)), device.to(np.full(1, n, np.int32))
    lock = device.to(np.zeros(1, np.int32))
    locked_argmax_kernel[(triton.cdiv(n, block),)](
        device.to(x), lock, best, where, n, BLOCK=block, num_warps=num_warps
    )
    assert device.numpy(best)[0] == x.max()
    assert device.numpy(where)[0] == x.argmax()
    assert device.numpy(lock)[0] == 0


@pytest.mark.parametrize("programs", [1, 13, 100])
def test_last_arrival(device, programs):
    n = 20_001
    x = device.to(random(n, "fp32", 2))
    ticket = device.to(np.zeros(1, np.int32))
    results = []
    for _ in range(2):
        parts, out = device.output(programs, "fp32"), device.output(1, "fp32")
        last_arrival_kernel[(programs,)](
            x, parts.array, ticket, out.array, n, BLOCK=128,
            MAX_PROGRAMS=triton.next_power_of_2(programs),
        )  # fmt: skip
        results.append(out.numpy()[0])
    assert results[0] == results[1]
    wide = random(n, "fp32", 2).astype(np.float64)
    assert abs(results[0] - wide.sum()) <= 1e-6 * np.abs(wide).sum()
    assert device.numpy(ticket)[0] == 0


@pytest.mark.parametrize("result", ["fp32", "fp64"])
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_dot_product(device, dtype, result):
    n = 10_007
    x, y = random(n, dtype, 3), random(n, dtype, 4)
    out = device.to(np.zeros(1, np.float64 if result == "fp64" else np.float32))
    dot_product_kernel[(9,)](device.to(x), device.to(y), out, n, BLOCK=256)
    products = x.astype(np.float64) * y.astype(np.float64)
    allowed = (1e-6 if result == "fp32" else 1e-14) * np.abs(products).sum()
    assert abs(device.numpy(out)[0] - products.sum()) <= allowed


@pytest.mark.parametrize("n", [1, 300, 12_345])
def test_moments(device, n):
    """Mean and variance, joined from those of all programs, are those of the array."""
    x, block = random(n, "fp32", 5) + np.float32(10), 256
    parts = triton.cdiv(n, block)
    state = [device.output(parts, "fp32") for _ in range(3)]
    out = device.output(2, "fp32")
    moments_kernel[(parts,)](device.to(x), *(s.array for s in state), n, BLOCK=block)
    join_moments_kernel[(1,)](
        *(s.array for s in state), out.array, parts, WIDTH=triton.next_power_of_2(parts)
    )
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), [wide.mean(), wide.var()], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("n, block", [(100, 16), (4000, 256)])
def test_grid_barrier(device, monkeypatch, n, block):
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "16")
    x, programs = random(n, "fp32", 6), triton.cdiv(n, block)
    total, counter = device.to(np.zeros(1, np.float32)), device.to(np.zeros(1, np.int32))
    out = device.output(n, "fp32")
    grid_normalize_kernel[(programs,)](
        device.to(x), total, counter, out.array, n, BLOCK=block, launch_cooperative_grid=True
    )
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), wide / np.linalg.norm(wide), rtol=1e-5)
    assert device.numpy(counter)[0] == programs


@pytest.mark.parametrize("groups", [1, 4])
def test_locked_columns(device, groups):
    rows, columns = 150, 50
    x = random((rows, columns), "fp32", 7)
    locks, seen = (device.to(np.zeros(groups, np.int32)) for _ in range(2))
    sums = device.output((groups, columns), "fp32")
    locked_columns_kernel[(triton.cdiv(rows, 4),)](
        device.to(x), sums.array, locks, seen, rows, columns, GROUPS=groups, ROWS=4, COLS=64
    )
    wide = np.pad(x.astype(np.float64), [(0, -rows % 4), (0, 0)]).reshape(-1, 4, columns)
    expected = np.stack([wide[group::groups].sum((0, 1)) for group in range(groups)])
    np.testing.assert_allclose(sums.numpy(), expected, rtol=1e-5, atol=1e-5)
    assert (device.numpy(locks) == 0).all()
    assert (device.numpy(seen) == 1).all()
