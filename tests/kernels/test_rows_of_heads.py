"""Sequences of any length whose rows hold all heads, as block pointers with checked boundaries see them.

A tile of columns begins within a head and may end beyond it; a tile of rows may end beyond its sequence.
What is beyond is the next head or the next sequence, and must be zero in the dot: the whole sum is
stored and compared, beyond the head, too. Operands in fp16, sums in fp32: within 2^-16 of the size of
the terms of float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

BLOCK = 64


@triton.jit
def products_kernel(
    a, b, out, begins, HEADS: tl.constexpr, D: tl.constexpr, WAY: tl.constexpr, B: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """A' B of one head of one sequence, a tile of its columns against another one."""
    sequence, head, at = tl.program_id(0), tl.program_id(1), tl.program_id(2) * B
    begin = tl.load(begins + sequence)
    tokens = tl.load(begins + sequence + 1) - begin
    first = begin * HEADS * D + head * D
    acc = tl.zeros((B, B), tl.float32)
    columns = tl.arange(0, B)
    for c in tl.range(-1 if WAY == "from before" else 0, tl.cdiv(tokens, B), num_stages=STAGES):
        if WAY == "masks" or WAY == "first columns":
            rows = c * B + tl.arange(0, B)
            low = rows[:, None] < tokens
            x = tl.load(
                a + first + rows[:, None] * HEADS * D + (at + columns)[None, :],
                mask=low & (at + columns < D)[None, :], other=0.0,
            )  # fmt: skip
            most = min(B, D) if WAY == "first columns" else D
            y = tl.load(
                b + first + rows[:, None] * HEADS * D + columns[None, :],
                mask=low & (columns < most)[None, :], other=0.0,
            )  # fmt: skip
        else:
            shape, strides = (tokens, D), (HEADS * D, 1)
            x = tl.load(
                tl.make_block_ptr(a + first, shape, strides, (c * B, at), (B, B), (1, 0)),
                boundary_check=(0, 1),
            )
            y = tl.load(
                tl.make_block_ptr(b + first, shape, strides, (c * B, 0), (B, B), (1, 0)),
                boundary_check=(0, 1),
            )
        acc = tl.dot(x.T, y, acc)
    out += ((sequence * HEADS + head) * tl.num_programs(2) + tl.program_id(2)) * B * B
    tl.store(out + columns[:, None] * B + columns[None, :], acc)


LENGTHS = [64, 0, 1, 200, 63, 129]


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("dim", [32, 64, 72, 96, 200])
@pytest.mark.parametrize("way", ["block pointers", "masks", "first columns", "from before"])
def test_tiles_end_with_their_head_and_sequence(device, way, dim, stages):
    """Every element of every sum, also of the columns and rows beyond the ends."""
    heads, tiles = 3, -(-dim // BLOCK)
    begins = np.cumsum([0, *LENGTHS], dtype=np.int32)
    a, b = (random((int(begins[-1]), heads, dim), "fp16", seed=dim + i) for i in (1, 2))
    out = device.output((len(LENGTHS), heads, tiles, BLOCK, BLOCK), "fp32")
    kernel = products_kernel[(len(LENGTHS), heads, tiles)](
        device.to(a), device.to(b), out.array, device.to(begins), heads, dim, way, BLOCK, stages,
        disabled_passes="occupancy-first",
    )  # fmt: skip
    wide = np.zeros((2, int(begins[-1]), heads, tiles * BLOCK))
    wide[0, :, :, :dim], wide[1, :, :, :dim] = a, b
    want, size = (np.zeros((len(LENGTHS), heads, tiles, BLOCK, BLOCK)) for _ in range(2))
    for sequence in range(len(LENGTHS)):
        x, y = wide[:, begins[sequence] : begins[sequence + 1]]
        for head in range(heads):
            for tile in range(tiles):
                left = x[:, head, tile * BLOCK : (tile + 1) * BLOCK].T
                right = y[:, head, :BLOCK]
                want[sequence, head, tile] = left @ right
                size[sequence, head, tile] = np.abs(left) @ np.abs(right)
    got = out.numpy().astype(np.float64)
    assert (np.abs(got - want) <= 2.0**-16 * size).all()
    if stages > 1 and kernel and "sm_90a" in kernel.asm.get("ptx", ""):
        messages = [remark.message for remark in kernel.remarks]
        loads = 0 if way == "from before" else 2
        assert sum("converted to TMA" in message for message in messages) == loads, messages
