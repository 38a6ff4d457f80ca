"""Programs that wait for one another: locks, programs in order, and sums across programs."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def locked_sum_kernel(lock_ptr, count_ptr, sum_ptr, x_ptr, N: tl.constexpr):
    """Every program adds its row to a sum that only the holder of the lock touches."""
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        x += tl.load(sum_ptr + offsets)
    tl.store(sum_ptr + offsets, x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("programs, n", [(7, 64), (150, 512)])
def test_lock(device, programs, n, num_warps):
    """A sum under a lock has every program's part once."""
    x = random((programs, n), "i32", seed=71)
    lock, count = device.to(np.zeros(1, np.int32)), device.to(np.zeros(1, np.int32))
    total = device.output(n, "i32")
    locked_sum_kernel[(programs,)](lock, count, total.array, device.to(x), n, num_warps=num_warps)
    np.testing.assert_array_equal(total.numpy(), x.sum(0))
    assert device.numpy(lock)[0] == 0


@triton.jit
def grouped_lock_kernel(locks_ptr, sum_ptr, x_ptr, GROUPS: tl.constexpr, N: tl.constexpr):
    """No barrier before the release: releasing orders what the whole program wrote."""
    program = tl.program_id(0)
    group = program % GROUPS
    offsets = tl.arange(0, N)
    sums = sum_ptr + group * N + offsets
    x = tl.load(x_ptr + program * N + offsets)
    while tl.atomic_cas(locks_ptr + group, 0, 1, sem="acquire") == 1:
        pass
    tl.store(sums, tl.load(sums) + x)
    tl.atomic_xchg(locks_ptr + group, 0, sem="release")


def test_locks_of_groups(device):
    x = random((90, 256), "fp64", seed=72)
    locks, sums = device.to(np.zeros(4, np.int32)), device.to(np.zeros((4, 256)))
    grouped_lock_kernel[(90,)](locks, sums, device.to(x), 4, 256)
    expected = np.stack([x[group::4].sum(0) for group in range(4)])
    np.testing.assert_allclose(device.numpy(sums), expected, rtol=1e-12, atol=1e-12)


@triton.jit
def turns_kernel(turn_ptr, out_ptr, N: tl.constexpr):
    """Program p waits for the programs before it, and leaves a product of all of them."""
    program = tl.program_id(0)
    while tl.atomic_add(turn_ptr, 0) != program:
        pass
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(out_ptr + offsets) * 3 + program)
    tl.atomic_add(turn_ptr, 1)


def test_programs_in_order(device):
    turn, out = device.to(np.zeros(1, np.int32)), device.to(np.ones(128, np.int32))
    turns_kernel[(12,)](turn, out, 128)
    expected = 1
    for program in range(12):
        expected = expected * 3 + program
    np.testing.assert_array_equal(device.numpy(out), np.full(128, expected, np.int32))


@triton.jit
def last_sums_kernel(done_ptr, parts_ptr, out_ptr, x_ptr, PROGRAMS: tl.constexpr, N: tl.constexpr):
    """The program that finishes last adds up what all have left."""
    program = tl.program_id(0)
    x = tl.load(x_ptr + program * N + tl.arange(0, N))
    tl.store(parts_ptr + program, tl.sum(x))
    if tl.atomic_add(done_ptr, 1) == PROGRAMS - 1:
        parts = tl.load(parts_ptr + tl.arange(0, PROGRAMS), volatile=True)
        tl.store(out_ptr, tl.sum(parts))


def test_the_last_program_sums(device):
    x = random((64, 128), "i64", seed=73)
    done, parts = device.to(np.zeros(1, np.int32)), device.output(64, "i64")
    out = device.output(1, "i64")
    last_sums_kernel[(64,)](done, parts.array, out.array, device.to(x), 64, 128)
    assert out.numpy()[0] == x.sum()


@triton.jit
def flag_kernel(flag_ptr, data_ptr, out_ptr, N: tl.constexpr):
    """Program 1 reads what program 0 wrote, after a flag."""
    offsets = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(data_ptr + offsets, offsets * 5)
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.atomic_cas(flag_ptr, 1, 1, sem="acquire") != 1:
            pass
        tl.store(out_ptr + offsets, tl.load(data_ptr + offsets) + 1)


def test_a_flag_orders_data(device):
    flag = device.to(np.zeros(1, np.int32))
    data, out = device.output(1024, "i32"), device.output(1024, "i32")
    flag_kernel[(2,)](flag, data.array, out.array, 1024)
    np.testing.assert_array_equal(out.numpy(), np.arange(1024) * 5 + 1)


@triton.jit
def flags_kernel(flags_ptr, data_ptr, out_ptr, N: tl.constexpr):
    """Program 1 reads what program 0 wrote, after a tile of flags of which each thread sets several."""
    offsets = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(data_ptr + offsets, offsets * 7)
        tl.debug_barrier()
        tl.atomic_xchg(flags_ptr + offsets, 1, sem="release")
    else:
        ready = 0
        while ready < N:
            ready = tl.sum(tl.atomic_add(flags_ptr + offsets, 0, sem="acquire"))
        tl.store(out_ptr + offsets, tl.load(data_ptr + N - 1 - offsets) + 1)


def test_a_tile_of_flags_orders_data(device):
    flags = device.to(np.zeros(512, np.int32))
    data, out = device.output(512, "i32"), device.output(512, "i32")
    flags_kernel[(2,)](flags, data.array, out.array, 512)
    np.testing.assert_array_equal(out.numpy(), np.arange(512)[::-1] * 7 + 1)


@triton.jit
def counted_rows_kernel(
    counts_ptr, rows_ptr, x_ptr, sum_ptr, WRITERS: tl.constexpr, N: tl.constexpr
):
    """The last program waits until the others have counted each element up; the old counts are not used."""
    program = tl.program_id(0)
    offsets = tl.arange(0, N)
    if program < WRITERS:
        rows = rows_ptr + program * N + offsets
        tl.store(rows, 2 * tl.load(x_ptr + program * N + offsets))
        tl.atomic_add(counts_ptr + offsets, 1)
    else:
        least = 0
        while least < WRITERS:
            least = tl.min(tl.atomic_add(counts_ptr + offsets, 0), 0)
        total = tl.zeros((N,), tl.int32)
        for row in range(WRITERS):
            total += tl.load(rows_ptr + row * N + offsets)
        tl.store(sum_ptr + offsets, total)


def test_counts_without_results_release(device):
    writers, n = 5, 256
    x = random((writers, n), "i32", seed=73)
    counts, rows = device.to(np.zeros(n, np.int32)), device.to(np.zeros((writers, n), np.int32))
    total = device.output(n, "i32")
    counted_rows_kernel[(writers + 1,)](counts, rows, device.to(x), total.array, writers, n)
    np.testing.assert_array_equal(total.numpy(), 2 * x.sum(0))
