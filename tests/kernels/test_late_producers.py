"""Producers that start later than their kernel, next to what they have to wait for.

A program writes, by stores and atomics, what its own loop then loads; learns from memory and tiles what to load; and comes
to its loop in some branches alone. Results in fp32 within 1e-3 of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

B, K, BLOCKS = 64, 192, 3


@triton.jit
def gemm_rows(a, b, row, K, B: tl.constexpr, depth_used=None):
    """The B rows of A·B from `row` on; B has B columns."""
    rows, depth, columns = row + tl.arange(0, B), tl.arange(0, 64), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K if depth_used is None else depth_used, 64):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * B + columns[None, :])
        acc = tl.dot(x, y, acc)
    return acc


@triton.jit
def tile(c, row, B: tl.constexpr):
    return c + (row + tl.arange(0, B))[:, None] * B + tl.arange(0, B)[None, :]


@triton.jit
def written(c, a, b, source, K, WAY: tl.constexpr, B: tl.constexpr):
    """The program's rows of A are written before they are multiplied; `a` may be `source`, too."""
    row = tl.program_id(0) * B
    for k in range(0, K, 64):
        at = (row + tl.arange(0, B))[:, None] * K + (k + tl.arange(0, 64))[None, :]
        x = tl.load(source + at)
        if WAY == "stored":
            tl.store(a + at, x * 2)
        elif WAY == "added":
            tl.atomic_add(a + at, x)
        elif WAY == "added relaxed":
            tl.atomic_add(a + at, x, sem="relaxed")
    tl.store(tile(c, row, B), gemm_rows(a, b, row, K, B))


@pytest.mark.parametrize("way", ["stored", "added", "added relaxed"])
@pytest.mark.parametrize("num_stages", [2, 4])
def test_what_the_program_wrote_before(device, way, num_stages):
    a, b = random((BLOCKS * B, K), "fp16", seed=1), random((K, B), "fp16", seed=2)
    expected = 2.0 * a.astype(np.float64) @ b.astype(np.float64)
    memory, out = device.to(a), device.output((BLOCKS * B, B), "fp32")
    compiled = written[(BLOCKS,)](
        out.array, memory, device.to(b), memory, K, way, B, num_stages=num_stages
    )
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    check_start(compiled)


def check_start(compiled):
    """A producer that starts later, where there are producers."""
    if compiled and "ptx" in compiled.asm and "sm_90a" in compiled.asm["ptx"]:
        assert "cp.async.bulk.tensor" in compiled.asm["ptx"], [r.message for r in compiled.remarks]
        assert "bar.sync \t7" in compiled.asm["ptx"]


@triton.jit
def learned(c, a, b, table, count, K, WAY: tl.constexpr, B: tl.constexpr):
    """c[i] = A[block(i)] B, where the block comes from memory that others change, or from a tile."""
    program = tl.program_id(0)
    if WAY == "turn":
        program = tl.atomic_add(table, 1) % count
        block = program
    elif WAY == "changed":
        tl.atomic_add(table + 1 + program, 1, sem="relaxed")
        block = tl.load(table + 1 + program)
    elif WAY == "tile":
        block = tl.sum(tl.where(tl.arange(0, 32) < program, 1, 0))
    elif WAY == "pointer":
        at = tl.atomic_or((table + 1 + program).to(tl.pointer_type(tl.int32)), 0)
        block, a = at, a + tl.max(tl.arange(0, 16)) - 15
    elif WAY == "float":
        value = tl.sum(tl.arange(0, 32).to(tl.float32)) + program
        block = count - 1 if value > 497.5 else (value - 496).to(tl.int32)
    row = tl.maximum(block, 0) * B
    tl.store(tile(c, program * B, B), gemm_rows(a, b, row, K, B))


BLOCK_OF = {
    "turn": [0, 1, 2],
    "changed": [1, 2, 0],
    "tile": [0, 1, 2],
    "pointer": [0, 1, -1],
    "float": [0, 1, 2],
}


@pytest.mark.parametrize("way", list(BLOCK_OF))
def test_what_the_program_learned(device, way):
    a, b = random((BLOCKS * B, K), "fp16", seed=3), random((K, B), "fp16", seed=4)
    out = device.output((BLOCKS * B, B), "fp32")
    table = device.to(np.array([0, 0, 1, -1], np.int32))
    compiled = learned[(BLOCKS,)](
        out.array, device.to(a), device.to(b), table, BLOCKS, K, way, B, num_stages=3
    )
    wide = a.astype(np.float64).reshape(BLOCKS, B, K)
    expected = np.concatenate([wide[max(i, 0)] @ b.astype(np.float64) for i in BLOCK_OF[way]])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    if way != "pointer":
        check_start(compiled)


@triton.jit
def branched(c, a, b, choice, K, WAY: tl.constexpr, B: tl.constexpr):
    """Programs multiply, store a number, or return, by what they find in memory; in nested branches."""
    program = tl.program_id(0)
    chosen = tl.atomic_add(choice + program, 100)
    row = program * B
    acc = tl.full((B, B), 3.0, tl.float32)
    if WAY == "returns":
        if chosen == 0:
            return
        acc = gemm_rows(a, b, row, K, B)
    elif WAY == "results":
        if chosen > 0:
            acc += 1.0
            if chosen > 1:
                acc = gemm_rows(a, b, row, K, B)
    elif WAY == "empty":  # no iteration
        acc = gemm_rows(a, b, row, K, B, tl.where(chosen == 2, K, 0))
    elif WAY == "again":  # effects in the branch, before and after the loop
        if chosen > 0:
            tl.store(choice + program, chosen + 5)
            acc = gemm_rows(a, b, tl.load(choice + program) * B - (chosen + 5) * B + row, K, B)
            tl.store(choice + program, 7)
    tl.store(tile(c, row, B), acc)


@pytest.mark.parametrize("way", ["returns", "results", "empty", "again"])
@pytest.mark.parametrize("chosen", [[0, 1, 2], [2, 2, 2], [0, 0, 0]])
def test_programs_that_come_to_the_loop_or_do_not(device, way, chosen):
    a, b = random((BLOCKS * B, K), "fp16", seed=5), random((K, B), "fp16", seed=6)
    out = device.output((BLOCKS * B, B), "fp32")
    compiled = branched[(BLOCKS,)](
        out.array, device.to(a), device.to(b), device.to(np.array(chosen, np.int32)), K, way, B
    )
    found = out.numpy().reshape(BLOCKS, B, B)
    products = a.astype(np.float64).reshape(BLOCKS, B, K) @ b.astype(np.float64)
    for which, mine, of_all in zip(chosen, found, products):
        if way == "returns" and which == 0:
            continue  # nothing was stored
        multiplies = which == 2 if way in ("results", "empty") else which > 0 or way == "returns"
        other = {"results": 3.0 + which, "empty": 0.0}.get(way, 3.0)
        np.testing.assert_allclose(mine, of_all if multiplies else other, rtol=1e-3, atol=1e-2)
    if way != "again":
        check_start(compiled)


@triton.jit
def counted(c, a, b, counts, K, B: tl.constexpr):
    """The old values of a tile of atomics go through shared memory to all rows, past the start."""
    row = tl.program_id(0) * B
    old = tl.atomic_add(counts + row + tl.arange(0, B), 1.0)
    acc = tl.zeros((B, B), tl.float32) + old[:, None]
    tl.store(tile(c, row, B), acc + gemm_rows(a, b, row, K, B))


@pytest.mark.parametrize("num_warps", [4, 8])
def test_old_values_next_to_the_start(device, num_warps):
    a, b = random((BLOCKS * B, K), "fp16", seed=7), random((K, B), "fp16", seed=8)
    counts = random(BLOCKS * B, "fp32", seed=9)
    expected = a.astype(np.float64) @ b.astype(np.float64) + counts[:, None]
    out = device.output((BLOCKS * B, B), "fp32")
    compiled = counted[(BLOCKS,)](
        out.array, device.to(a), device.to(b), device.to(counts), K, B, num_warps=num_warps
    )
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    check_start(compiled)
