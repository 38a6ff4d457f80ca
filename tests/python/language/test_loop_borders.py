"""Loops whose counters begin or end where their type does; what Python's `range` gives is the reference.

Arrays hold just what the iterations read, so a load for an iteration that there is not leaves its array.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

BOUNDS = {
    tl.int32: [
        (2**31 - 11, 2**31 - 1, 4),
        (2**31 - 12, 2**31 - 1, 2),
        (-(2**31), 2**31 - 1, 2**30),
        (-(2**31), 2**31 - 1, 2**31 - 1),
        (-5, 2**31 - 1, 2**30),
        (-(2**31), -(2**31) + 3, 1),
        (2**31 - 1, -(2**31), 1),
        (2**31 - 1, -(2**31), 2**30),
        (7, 5, 2),
    ],
    tl.uint32: [
        (2**31 - 2, 2**31 + 3, 1),
        (2**32 - 9, 2**32 - 1, 4),
        (2**32 - 8, 2**32 - 1, 2),
        (0, 2**32 - 1, 2**30),
        (5, 3, 1),
        (2**32 - 1, 0, 1),
    ],
    tl.int64: [
        (2**31 - 2, 2**31 + 3, 1),
        (2**40, 2**40 + 10, 3),
        (2**63 - 10, 2**63 - 1, 4),
        (-(2**63), 2**63 - 1, 2**62),
        (2**63 - 1, -(2**63), 1),
    ],
    tl.uint64: [
        (2**63 - 2, 2**63 + 3, 1),
        (2**64 - 9, 2**64 - 1, 4),
        (2**64 - 1, 0, 1),
    ],
}
CASES = [(dtype, bounds) for dtype, list_of in BOUNDS.items() for bounds in list_of]
NAMES = [f"{dtype}-{bounds[0]}-{bounds[1]}-{bounds[2]}" for dtype, bounds in CASES]


def mix(counters):
    """A hash of 64 bits of the counters, in their order."""
    mixed = 0
    for counter in counters:
        mixed = (mixed * 31 + counter) % 2**64
    return np.uint64(mixed).astype(np.int64)


@triton.jit(do_not_specialize=["start", "stop", "step"])
def matmul_kernel(
    out, mixed_ptr, a, b, pages, start, stop, step, K, DTYPE: tl.constexpr, STEP: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros([64, 64], dtype=tl.float32)
    mixed = tl.zeros([], dtype=tl.uint64)
    first, last = start.to(DTYPE), stop.to(DTYPE)
    by = step.to(DTYPE) if STEP is None else STEP
    x_ptrs = a + m[:, None] * K + k[None, :]
    y_ptrs = b + k[:, None] * 64 + m[None, :]
    for i in tl.range(first, last, by, num_stages=STAGES):
        page = 0
        if pages is not None:
            page = tl.load(pages)
            pages += 1
        total = tl.dot(tl.load(x_ptrs), tl.load(y_ptrs + page * 32 * 64), total)
        mixed = mixed * 31 + i.to(tl.uint64)
        x_ptrs += 32
        if pages is None:
            y_ptrs += 32 * 64
    tl.store(out + m[:, None] * 64 + m[None, :], total)
    tl.store(mixed_ptr, mixed.to(tl.int64))


@pytest.mark.parametrize("is_constant, is_paged", [(True, False), (False, True)])
@pytest.mark.parametrize("dtype, bounds", CASES, ids=NAMES)
def test_copies_for_later_iterations(device, dtype, bounds, is_constant, is_paged):
    """Copies for later iterations are issued where there are such, and what their addresses come from is read."""
    counters = range(*bounds)
    steps = max(len(counters), 1)
    depth = 32 * steps
    a, b = random((64, depth), "fp16", 1), random((depth, 64), "fp16", 2)
    pages = np.random.default_rng(3).permutation(steps).astype(np.int32) if is_paged else None
    out, mixed = device.output((64, 64), "fp32"), device.output((1,), "i64")
    matmul_kernel[(1,)](
        out.array, mixed.array, device.to(a), device.to(b),
        None if pages is None else device.to(pages), *bounds, depth, DTYPE=dtype, STEP=bounds[2] if is_constant else None, STAGES=4,
    )  # fmt: skip
    assert mixed.numpy()[0] == mix(counters)
    if is_paged:
        b = b.reshape(steps, 32, 64)[pages].reshape(depth, 64)
    expected = a.astype(np.float64) @ b.astype(np.float64) * (len(counters) > 0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)


@triton.jit
def known_kernel(
    out, START: tl.constexpr, STOP: tl.constexpr, STEP: tl.constexpr, DTYPE: tl.constexpr,
    FACTOR: tl.constexpr,
):  # fmt: skip
    mixed = tl.zeros([], dtype=tl.uint64)
    first = tl.full([], START, DTYPE)
    last = tl.full([], STOP, DTYPE)
    for i in tl.range(first, last, STEP, loop_unroll_factor=FACTOR):
        mixed = mixed * 31 + i.to(tl.uint64)
    tl.store(out, mixed.to(tl.int64))


@pytest.mark.parametrize("factor", [1, 3])
@pytest.mark.parametrize(
    "dtype, bounds",
    [
        *CASES,
        (tl.uint32, (3, 2**32 - 1, 2**31)),
        (tl.int32, (2**31 - 1, -(2**31), -(2**30))),
    ],
)
def test_known_bounds(device, dtype, bounds, factor):
    """Compile-time bounds near the ends of their type run as many iterations as Python's range."""
    out = device.output((1,), "i64")
    known_kernel[(1,)](out.array, *bounds, DTYPE=dtype, FACTOR=factor)
    assert out.numpy()[0] == mix(range(*bounds))


@triton.jit(do_not_specialize=["start", "stop", "step"])
def row_kernel(
    out, mixed_ptr, x, start, stop, step, DTYPE: tl.constexpr, STEP: tl.constexpr,
    STAGES: tl.constexpr, FACTOR: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, 64)
    total = tl.zeros([64], dtype=tl.float32)
    mixed = tl.zeros([], dtype=tl.uint64)
    first, last = start.to(DTYPE), stop.to(DTYPE)
    by = step.to(DTYPE) if STEP is None else STEP
    for i in tl.range(first, last, by, num_stages=STAGES, loop_unroll_factor=FACTOR):
        number = (i.to(tl.uint64) - first.to(tl.uint64)) // step.to(tl.uint64)
        total = total * 3 + tl.load(x + number.to(tl.int32) * 64 + c)
        mixed = mixed * 31 + i.to(tl.uint64)
    tl.store(out + c, total)
    tl.store(mixed_ptr, mixed.to(tl.int64))


@pytest.mark.parametrize(
    "is_constant, stages, factor", [(False, 3, 1), (True, 1, 2), (False, 3, 4)]
)
@pytest.mark.parametrize("dtype, bounds", CASES, ids=NAMES)
def test_prefetched_and_unrolled_rows(device, dtype, bounds, is_constant, stages, factor):
    """Prefetched loads, and loops that are unrolled as their source says."""
    counters = range(*bounds)
    x = random((max(len(counters), 1), 64), "fp32", 3)
    out, mixed = device.output((64,), "fp32"), device.output((1,), "i64")
    row_kernel[(1,)](
        out.array, mixed.array, device.to(x), *bounds, DTYPE=dtype,
        STEP=bounds[2] if is_constant else None, STAGES=stages, FACTOR=factor,
    )  # fmt: skip
    assert mixed.numpy()[0] == mix(counters)
    expected = np.zeros(64)
    for number in range(len(counters)):
        expected = expected * 3 + x[number].astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-4)


@triton.jit(do_not_specialize=["start", "stop"])
def longest_kernel(out, start, stop, STEP: tl.constexpr, DTYPE: tl.constexpr):
    mixed = tl.zeros([], dtype=tl.uint64)
    i = start.to(DTYPE)
    for i in range(start.to(DTYPE), stop.to(DTYPE), STEP):
        mixed = mixed * 31 + i.to(tl.uint64)
    tl.store(out, mixed.to(tl.int64))
    tl.store(out + 1, i.to(tl.int64))


@pytest.mark.parametrize(
    "dtype, start, stop, step",
    [
        (tl.int32, 2**31 - 1, -(2**31), -(2**31)),
        (tl.int32, 2**29 - 1, -659449261, -(2**31)),
        (tl.int32, 0, -(2**31), -(2**31)),
        (tl.int32, -7, -5, -(2**31)),
        (tl.int32, -(2**31), 2**31 - 1, 2**31),
        (tl.int32, -5, 2**31 - 1, 2**31),
        (tl.int64, 2**63 - 1, -(2**63), -(2**63)),
        (tl.int64, 2**40, 2**41, -(2**63)),
        (tl.int64, 2**40, -(2**41), -(2**31)),
    ],
)
def test_longest_steps(device, dtype, start, stop, step):
    """The least number of a type, whose opposite is none of it, and numbers that have a type without sign."""
    out = device.output((2,), "i64")
    longest_kernel[(1,)](out.array, start, stop, STEP=step, DTYPE=dtype)
    counters = range(start, stop, step)
    assert out.numpy().tolist() == [mix(counters), counters[-1] if counters else start]


def test_a_step_of_no_type(device):
    out = device.output((2,), "i64")
    with pytest.raises(Exception, match="the step of a range does not fit into `int64`"):
        longest_kernel[(1,)](out.array, 0, 2**40, STEP=2**63, DTYPE=tl.int64)
