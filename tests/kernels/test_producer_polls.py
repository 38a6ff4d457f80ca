"""Polls between the loops that a producer loads for: it does them in the consumers' place.

Each program writes its block of rows, sets a flag, and multiplies the blocks of all programs, its own first. Results in fp32
within 1e-3 of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

B, K, BLOCKS = 64, 192, 3


@triton.jit
def gemm_rows(a, b, row, begin, end, K, B: tl.constexpr):
    """The B rows of A·B from `row` on, of the depths from `begin` to `end`; B has B columns."""
    rows, depth, columns = row + tl.arange(0, B), tl.arange(0, 64), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(begin, end, 64):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * B + columns[None, :])
        acc = tl.dot(x, y, acc)
    return acc


@triton.jit
def publish(memory, source, flags, block, epoch, K, B: tl.constexpr):
    for k in range(0, K, 64):
        at = (block * B + tl.arange(0, B))[:, None] * K + (k + tl.arange(0, 64))[None, :]
        tl.store(memory + at, tl.load(source + at))
    tl.atomic_store(flags + block, epoch, sem="release")


@triton.jit
def relayed(c, memory, source, b, flags, epoch, K, count, WAY: tl.constexpr, B: tl.constexpr):
    """c[p, i] = A[i] B for all blocks i, by program p; with WAY, not only that."""
    own = tl.program_id(0)
    publish(memory, source, flags, own, epoch, K, B)
    c += own * count * B * B
    rows, columns = tl.arange(0, B), tl.arange(0, B)
    for i in tl.range(0, count, flatten=True):
        block = (own + i) % count
        if WAY == "all":  # of a loop in the loop
            for other in range(block, count):
                tl.atomic_poll(flags + other, epoch, sem="acquire")
        elif WAY == "others":  # in a branch
            if block != own:
                tl.atomic_poll(flags + block, epoch, sem="acquire")
        else:
            tl.atomic_poll(flags + block, epoch, sem="acquire")
        acc = tl.zeros((B, B), tl.float32)
        if WAY == "none":  # no iteration, so the first access after the poll is the consumers' own
            acc += gemm_rows(memory, b, block * B, 0, tl.where(epoch == 7, 0, K), K, B)
            acc += tl.load(memory + (block * B + rows)[:, None] * K + columns[None, :])
        elif WAY == "twice":  # two polls and two loops
            acc += gemm_rows(memory, b, block * B, 0, K, K, B)
            next = (block + 1) % count
            tl.atomic_poll(flags + next, epoch, sem="acquire")
            acc += gemm_rows(memory, b, next * B, 0, 128, K, B)
        else:
            acc += gemm_rows(memory, b, block * B, 0, K, K, B)
        if WAY == "read":  # by consumers, too
            acc += tl.load(memory + (block * B + rows)[:, None] * K + columns[None, :])
        tl.store(c + (block * B + rows)[:, None] * B + columns[None, :], acc)


@triton.jit
def relayed_in_line(c, memory, source, b, flags, epoch, K, count, WAY: tl.constexpr, B: tl.constexpr):  # fmt: skip
    """c[p] = A[p] B + A[p + 1] B: no loop is around the poll."""
    own = tl.program_id(0)
    publish(memory, source, flags, own, epoch, K, B)
    acc = gemm_rows(memory, b, own * B, 0, K, K, B)
    next = (own + 1) % count
    if WAY == "line":
        tl.atomic_poll(flags + next, epoch, sem="acquire")
    elif next != own:
        tl.atomic_poll(flags + next, epoch, sem="acquire")
    acc += gemm_rows(memory, b, next * B, 0, K, K, B)
    rows, columns = tl.arange(0, B), tl.arange(0, B)
    tl.store(c + (own * B + rows)[:, None] * B + columns[None, :], acc)


def launch(device, kernel, way, shape, epoch=3, **options):
    """The result of `kernel`, and A and B in float64."""
    a, b = random((BLOCKS * B, K), "fp16", seed=1), random((K, B), "fp16", seed=2)
    memory, flags = (
        device.to(np.zeros(n, t)) for n, t in ((a.size, np.float16), (BLOCKS, np.int32))
    )
    out = device.output(shape, "fp32")
    compiled = kernel[(BLOCKS,)](
        out.array, memory, device.to(a), device.to(b), flags, epoch, K, BLOCKS, way, B,
        launch_cooperative_grid=True, **options,
    )  # fmt: skip
    if compiled and "ptx" in compiled.asm and "sm_90a" in compiled.asm["ptx"]:
        assert any("producer warp polls" in r.message for r in compiled.remarks), compiled.remarks
    return out.numpy(), a.astype(np.float64), b.astype(np.float64)


@pytest.mark.parametrize("way", ["each", "all", "others", "none", "twice", "read"])
@pytest.mark.parametrize("num_stages", [2, 4])
def test_polls_in_a_loop_around(device, way, num_stages):
    shape = (BLOCKS, BLOCKS * B, B)
    epoch = 7 if way == "none" else 3
    found, a, b = launch(device, relayed, way, shape, epoch, num_stages=num_stages)
    expected = a @ b if way != "none" else 0 * (a @ b)
    if way == "twice":
        expected += np.roll(a, -B, axis=0)[:, :128] @ b[:128]
    if way in ("read", "none"):
        expected += a[:, :B]
    np.testing.assert_allclose(found, np.broadcast_to(expected, shape), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("way", ["line", "branch"])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_polls_in_no_loop(device, way, num_warps):
    found, a, b = launch(device, relayed_in_line, way, (BLOCKS * B, B), num_warps=num_warps)
    expected = (a + np.roll(a, -B, axis=0)) @ b
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)
