"""Prefix sums longer than a block: carried by one program, in two passes, by decoupled look-back.

Look-back (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back"): a
program publishes its block's sum, then the sum of all before it; those after it wait on flags.
Tickets make programs start in order. Integers exact, fp32 within 1e-5 of the sum of magnitudes.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def carried_cumsum_kernel(
    x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr, REVERSE: tl.constexpr
):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    carry = tl.zeros([ROWS], dtype=tl.float32)
    blocks = tl.cdiv(cols, COLS)
    for i in range(0, blocks):
        block = blocks - 1 - i if REVERSE else i
        c = block * COLS + tl.arange(0, COLS)
        at = r[:, None] * cols + c[None, :]
        mask = (r < rows)[:, None] & (c < cols)[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, carry[:, None] + tl.cumsum(x, axis=1, reverse=REVERSE), mask=mask)
        carry += tl.sum(x, 1)


@triton.jit
def block_sums_kernel(x_ptr, sums_ptr, cols, n_blocks, BLOCK: tl.constexpr):
    row, block = tl.program_id(0), tl.program_id(1)
    c = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0)
    tl.store(sums_ptr + row * n_blocks + block, tl.sum(x, 0))


@triton.jit
def add_blocks_kernel(
    x_ptr, sums_ptr, out_ptr, cols, n_blocks, BLOCK: tl.constexpr, MAX_BLOCKS: tl.constexpr
):
    row, block = tl.program_id(0), tl.program_id(1)
    before = tl.arange(0, MAX_BLOCKS)
    sums = tl.load(sums_ptr + row * n_blocks + before, mask=before < block, other=0)
    c = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0)
    tl.store(out_ptr + row * cols + c, tl.sum(sums, 0) + tl.cumsum(x, 0), mask=c < cols)


@triton.jit
def look_back_kernel(
    x_ptr, out_ptr, ticket_ptr, flag_ptr, part_ptr, whole_ptr, n, BLOCK: tl.constexpr
):
    """Flags: 0 nothing yet, 1 the block's own sum, 2 the sum up to its end."""
    block = tl.atomic_add(ticket_ptr, 1)
    at = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    total = tl.sum(x, 0)
    if block > 0:
        tl.store(part_ptr + block, total)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr + block, 1, sem="release")
    before = total - total
    left = block - 1
    while left >= 0:
        flag = tl.atomic_add(flag_ptr + left, 0, sem="acquire")
        while flag == 0:
            flag = tl.atomic_add(flag_ptr + left, 0, sem="acquire")
        if flag == 2:
            before += tl.load(whole_ptr + left, volatile=True)
            left = -1
        else:
            before += tl.load(part_ptr + left, volatile=True)
            left -= 1
    tl.store(whole_ptr + block, before + total)
    tl.debug_barrier()
    tl.atomic_xchg(flag_ptr + block, 2, sem="release")
    tl.store(out_ptr + at, before + tl.cumsum(x, 0), mask=at < n)


def check_sums(result, x, expected):
    if x.dtype.kind == "i":
        assert (result == expected).all()
    else:
        scale = np.abs(x.astype(np.float64)).sum(axis=-1, keepdims=True)
        assert (np.abs(result - expected) <= 1e-5 * scale).all()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "dtype, shape", [("fp32", (5, 300)), ("fp16", (9, 129)), ("fp32", (1, 17))]
)
def test_carried(device, dtype, shape, reverse):
    """Prefix sums that one program carries are right from both ends."""
    x, out = random(shape, dtype, 1), device.output(shape, "fp32")
    carried_cumsum_kernel[(triton.cdiv(shape[0], 4),)](
        device.to(x), out.array, *shape, ROWS=4, COLS=64, REVERSE=reverse
    )
    wide = x.astype(np.float64)
    expected = np.cumsum(wide[:, ::-1], 1)[:, ::-1] if reverse else np.cumsum(wide, 1)
    check_sums(out.numpy(), x, expected)


@pytest.mark.parametrize("dtype", ["i32", "fp32"])
def test_two_passes(device, dtype):
    rows, cols, block = (7, 100_003, 2048) if device.on_gpu else (3, 2003, 256)
    blocks = triton.cdiv(cols, block)
    x = random((rows, cols), dtype, 2)
    sums, out = device.output((rows, blocks), dtype), device.output((rows, cols), dtype)
    d_x = device.to(x)
    block_sums_kernel[(rows, blocks)](d_x, sums.array, cols, blocks, BLOCK=block)
    add_blocks_kernel[(rows, blocks)](
        d_x,
        sums.array,
        out.array,
        cols,
        blocks,
        BLOCK=block,
        MAX_BLOCKS=triton.next_power_of_2(blocks),
    )
    check_sums(out.numpy(), x, np.cumsum(x, 1, dtype=np.float64 if dtype == "fp32" else np.int64))


@pytest.mark.parametrize("dtype", ["i32", "i64", "fp32"])
def test_look_back(device, dtype):
    n, block = (1_000_003, 1024) if device.on_gpu else (3001, 128)
    blocks = triton.cdiv(n, block)
    x, out = random(n, dtype, 3), device.output(n, dtype)
    state = [device.to(np.zeros(count, np.int32)) for count in (1, blocks)]
    sums = [device.output(blocks, dtype) for _ in range(2)]
    look_back_kernel[(blocks,)](
        device.to(x), out.array, *state, *(s.array for s in sums), n, BLOCK=block
    )
    expected = np.cumsum(x, dtype=np.float64 if dtype == "fp32" else np.int64)
    check_sums(out.numpy(), x, expected)
    assert device.numpy(state[0])[0] == blocks
    assert (device.numpy(state[1]) == 2).all()
