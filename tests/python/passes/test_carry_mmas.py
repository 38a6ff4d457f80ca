"""MMAs at the end of an iteration that are in flight while the next one begins: numbers of iterations, one loop after
another, loops in a loop, stages that threads read, too, several such MMAs."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

MMAS = {"one": 1, "two": 2}


@triton.jit
def walk(
    acc, total, a, b_ptrs, c_ptrs, w_ptr, sum_ptrs, steps, begin, end,
    DEPTH: tl.constexpr, STEP: tl.constexpr, MMAS: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Adds `p b`, and `p c` with two MMAs, to what is carried, and `p^T a` to memory."""
    for start in range(begin, end, STEP):
        b = tl.load(b_ptrs + start * DEPTH)
        s = tl.dot(a, tl.trans(b))
        if WEIGHTED:
            s *= tl.load(w_ptr + start + steps)[None, :]
        p = s.to(b.dtype)
        sums = tl.dot(tl.trans(p), a)
        acc = tl.dot(p, b, acc)
        if MMAS == 2:
            total = tl.dot(p, tl.load(c_ptrs + start * DEPTH), total)
        tl.atomic_add(sum_ptrs + start * DEPTH, sums, sem="relaxed")
    return acc, total


@triton.jit
def walks_kernel(
    a_ptr, b_ptr, c_ptr, w_ptr, sum_ptr, acc_ptr, total_ptr, begin, middle, end,
    ROWS: tl.constexpr, STEP: tl.constexpr, DEPTH: tl.constexpr, MMAS: tl.constexpr,
    WEIGHTED: tl.constexpr, LOOPS: tl.constexpr, ROUNDS: tl.constexpr,
):  # fmt: skip
    """From `begin` to `end`, in one loop or in two that meet in the `middle`, all of it ROUNDS times."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    depth, steps = tl.arange(0, DEPTH), tl.arange(0, STEP)
    own = rows[:, None] * DEPTH + depth[None, :]
    places = steps[:, None] * DEPTH + depth[None, :]
    a = tl.load(a_ptr + own)
    acc, total = tl.zeros([ROWS, DEPTH], tl.float32), tl.zeros([ROWS, DEPTH], tl.float32)
    for _ in range(ROUNDS):
        if LOOPS == 2:
            acc, total = walk(
                acc, total, a, b_ptr + places, c_ptr + places, w_ptr, sum_ptr + places, steps,
                begin, middle, DEPTH, STEP, MMAS, WEIGHTED,
            )  # fmt: skip
            acc, total = walk(
                acc, total, a, b_ptr + places, c_ptr + places, w_ptr, sum_ptr + places, steps,
                middle, end, DEPTH, STEP, MMAS, WEIGHTED,
            )  # fmt: skip
        else:
            acc, total = walk(
                acc, total, a, b_ptr + places, c_ptr + places, w_ptr, sum_ptr + places, steps,
                begin, end, DEPTH, STEP, MMAS, WEIGHTED,
            )  # fmt: skip
    tl.store(acc_ptr + own, acc)
    tl.store(total_ptr + own, total + 1.0)


def check(
    device, counts, rows=64, step=64, depth=64, mmas=1, weighted=False, rounds=1, warps=4, stages=2,
    programs=2, dtype="fp16", without="",
):  # fmt: skip
    """Runs loops of so many iterations as `counts` has, with a producer on Hopper, and compares every
    element with float64."""
    length = step * max(sum(counts), 1)
    a, b, c = (random((n, depth), dtype, n + depth) / 8 for n in (rows * programs, length, length))
    w = random((length,), "fp32", 3)
    sums = device.to(np.zeros((length, depth), np.float32))
    acc, total = (device.output((rows * programs, depth), "fp32") for _ in range(2))
    middle, end = step * counts[0], step * sum(counts)
    kernel = walks_kernel[(programs,)](
        *map(device.to, (a, b, c, w)), sums, acc.array, total.array, 0, middle, end,
        ROWS=rows, STEP=step, DEPTH=depth, MMAS=mmas, WEIGHTED=weighted, LOOPS=len(counts),
        ROUNDS=rounds, num_warps=warps, num_stages=stages,
        disabled_passes="occupancy-first" + without,
    )  # fmt: skip
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    p = a @ b[:end].T * (w[:end] if weighted else 1)
    expected = np.zeros((length, depth))
    expected[:end] = rounds * p.T @ a
    close = {
        "rtol": 0,
        "atol": (2e-3 if dtype == "fp16" else 1.6e-2) * rounds * max(np.abs(p).sum(1).max(), 1),
    }
    np.testing.assert_allclose(device.numpy(sums), expected, **close)
    np.testing.assert_allclose(acc.numpy(), rounds * p @ b[:end], **close)
    second = rounds * p @ c[:end] if mmas == 2 else 0 * a
    np.testing.assert_allclose(total.numpy(), 1 + second, **close)
    return kernel


@pytest.mark.parametrize("mmas", MMAS.values(), ids=MMAS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_numbers_of_iterations(device, count, stages, weighted, mmas):
    check(device, (count,), stages=stages, weighted=weighted, mmas=mmas)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("counts", [(0, 3), (3, 0), (1, 1), (2, 3), (5, 2)], ids=str)
def test_one_loop_after_another(device, counts, weighted):
    """They share circular buffers: the count goes on."""
    check(device, counts, weighted=weighted, mmas=2)


@pytest.mark.parametrize("counts", [(0,), (1,), (3,), (1, 2)], ids=str)
def test_loops_in_a_loop(device, counts):
    check(device, counts, rounds=3, weighted=True)


@pytest.mark.parametrize(
    "rows, step, depth, warps", [(128, 64, 64, 8), (64, 32, 128, 4), (128, 32, 64, 4)], ids=str
)
def test_tiles_of_several_warp_groups(device, rows, step, depth, warps):
    check(device, (5,), rows=rows, step=step, depth=depth, warps=warps, weighted=True)
    check(device, (4,), rows=rows, step=step, depth=depth, warps=warps, dtype="bf16", mmas=2)


def test_the_pass_changes_the_code(device):
    """Of one MMA that stays in flight and of two, on Hopper."""
    for mmas in MMAS.values():
        kernels = [
            check(device, (4,), mmas=mmas, without=without) for without in ("", ",nv-carry-mmas")
        ]
        if device.arch == 90:
            assert kernels[0].asm["ptx"] != kernels[1].asm["ptx"]


@triton.jit
def views_kernel(
    a_ptr, b_ptr, w_ptr, sum_ptr, acc_ptr, length,
    SIZE: tl.constexpr, HOW: tl.constexpr,
):  # fmt: skip
    """Adds `w b` to what is carried, with `w` as bits of another type, or as what is always chosen."""
    rows = tl.arange(0, SIZE)
    own = rows[:, None] * SIZE + rows[None, :]
    a = tl.load(a_ptr + own)
    acc = tl.zeros([SIZE, SIZE], tl.float32)
    for start in range(0, length, SIZE):
        b = tl.load(b_ptr + start * SIZE + own)
        w = tl.load(w_ptr + rows[:, None] * length + start + rows[None, :])
        p = tl.dot(a, tl.trans(b)).to(b.dtype)
        tl.atomic_add(sum_ptr + start * SIZE + own, tl.dot(tl.trans(p), a), sem="relaxed")
        if HOW == "bitcast":
            w = (w.to(tl.int16, bitcast=True) | 0).to(b.dtype, bitcast=True)
        elif HOW == "where":
            w = tl.where(rows[None, :] >= 0, w, 0.0)
        elif HOW == "negated":
            w = -(-w)
        acc = tl.dot(w, b, acc)
    tl.store(acc_ptr + own, acc)


@pytest.mark.parametrize("how", ["plain", "bitcast", "where", "negated"])
def test_left_operands_that_are_views(device, how):
    """They are in registers that the next iteration loads into, before its first wait."""
    size, length = 64, 256
    a, b, w = (
        random(shape, "fp16", seed) / 4
        for seed, shape in enumerate(((size, size), (length, size), (size, length)))
    )
    sums = device.to(np.zeros((length, size), np.float32))
    acc = device.output((size, size), "fp32")
    views_kernel[(1,)](
        *map(device.to, (a, b, w)), sums, acc.array, length, SIZE=size, HOW=how, num_warps=4,
        num_stages=2, disabled_passes="occupancy-first",
    )  # fmt: skip
    a, b, w = (x.astype(np.float64) for x in (a, b, w))
    np.testing.assert_allclose(acc.numpy(), w @ b, rtol=0, atol=1e-2)
    np.testing.assert_allclose(device.numpy(sums), b @ a.T @ a, rtol=0, atol=5e-2)
