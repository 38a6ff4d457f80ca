"""The gated delta rule in chunks: triangular inverses, then a state that a loop carries and writes.

Sequences of different lengths follow each other; a list names the sequence and the chunk of each
program. Block pointers advance over heads in both orders. The loop over chunks stores the state and the
corrected values while the tiles of the next chunks are prefetched. Inverses in fp32 within 2e-5;
states from bf16 dots, rounded where the kernel rounds, within 2e-2.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

exp = tl.exp


@triton.heuristics({"PACKED": lambda args: args["begins_ptr"] is not None})
@triton.jit(do_not_specialize=["tokens"])
def inverse_kernel(
    a_ptr, out_ptr, begins_ptr, chunks_ptr, tokens, HEADS: tl.constexpr, C: tl.constexpr,
    PACKED: tl.constexpr,
):  # fmt: skip
    """(I + A)^-1 of one chunk and head, A strictly below the diagonal, row by row."""
    chunk, head = tl.program_id(0), tl.program_id(1)
    if PACKED:
        sequence, chunk = tl.load(chunks_ptr + chunk * 2), tl.load(chunks_ptr + chunk * 2 + 1)
        begin, end = tl.load(begins_ptr + sequence), tl.load(begins_ptr + sequence + 1)
        tokens = end - begin
    else:
        begin = 0
    a_ptr += (begin * HEADS + head) * C
    out_ptr += (begin * HEADS + head) * C
    here = tl.make_block_ptr(a_ptr, (tokens, C), (HEADS * C, 1), (chunk * C, 0), (C, C), (1, 0))
    i = tl.arange(0, C)
    x = tl.load(here, boundary_check=(0, 1)).to(tl.float32)
    x = -tl.where(i[:, None] > i[None, :], x, 0)
    for row in range(1, min(C, tokens - chunk * C)):
        own = -tl.load(a_ptr + (chunk * C + row) * HEADS * C + i)
        own = tl.where(i < row, own, 0.0)
        own += tl.sum(own[:, None] * x, 0)
        x = tl.where((i == row)[:, None], own, x)
    x += i[:, None] == i[None, :]
    there = tl.make_block_ptr(out_ptr, (tokens, C), (HEADS * C, 1), (chunk * C, 0), (C, C), (1, 0))
    to = there.dtype.element_ty
    tl.store(there, x.to(to, fp_downcast_rounding="rtne"), boundary_check=(0, 1))


@triton.heuristics(
    {
        "GATED": lambda args: args["gate_ptr"] is not None,
        "KEEPS": lambda args: args["final_ptr"] is not None,
    }
)
@triton.jit(do_not_specialize=["tokens"])
def state_kernel(
    k_ptr, w_ptr, v_ptr, gate_ptr, initial_ptr, states_ptr, new_v_ptr, final_ptr, begins_ptr,
    first_chunks_ptr, tokens, HEADS: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    C: tl.constexpr, BV: tl.constexpr, GATED: tl.constexpr, KEEPS: tl.constexpr,
):  # fmt: skip
    """S <- decay S + k' (v - w S), chunk by chunk; what S was before each chunk is kept."""
    block, sequence, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    begin = tl.load(begins_ptr + sequence)
    tokens = tl.load(begins_ptr + sequence + 1) - begin
    at = begin * HEADS + head
    k_ptr += at * K
    w_ptr += at * K
    v_ptr += at * V
    new_v_ptr += at * V
    which = sequence * HEADS + head
    states_ptr += (tl.load(first_chunks_ptr + sequence) * HEADS + head) * K * V
    low = tl.make_block_ptr(
        initial_ptr + which * K * V, (K, V), (V, 1), (0, block * BV), (64, BV), (1, 0)
    )
    state = tl.load(low, boundary_check=(0, 1)).to(tl.float32)
    if K > 64:
        rest = tl.load(tl.advance(low, (64, 0)), boundary_check=(0, 1)).to(tl.float32)
    for c in range(tl.cdiv(tokens, C)):
        to = tl.make_block_ptr(
            states_ptr + c * HEADS * K * V, (K, V), (V, 1), (0, block * BV), (64, BV), (1, 0)
        )
        tl.store(to, state.to(to.dtype.element_ty), boundary_check=(0, 1))
        w = tl.make_block_ptr(w_ptr, (tokens, K), (HEADS * K, 1), (c * C, 0), (C, 64), (1, 0))
        tile = tl.load(w, boundary_check=(0, 1))
        known = tl.dot(tile, state.to(tile.dtype))
        if K > 64:
            tl.store(to.advance((64, 0)), rest.to(to.dtype.element_ty), boundary_check=(0, 1))
            tile = tl.load(w.advance((0, 64)), boundary_check=(0, 1))
            known += tl.dot(tile, rest.to(tile.dtype))
        v = tl.make_block_ptr(
            v_ptr, (tokens, V), (HEADS * V, 1), (c * C, block * BV), (C, BV), (1, 0)
        )
        news = tl.load(v, boundary_check=(0, 1)) - known
        to = tl.make_block_ptr(
            new_v_ptr, (tokens, V), (HEADS * V, 1), (c * C, block * BV), (C, BV), (1, 0)
        )
        tl.store(to, news.to(to.dtype.element_ty), boundary_check=(0, 1))
        if GATED:
            last = min((c + 1) * C, tokens) - 1
            row = c * C + tl.arange(0, C)
            end = tl.load(gate_ptr + at + last * HEADS)
            g = tl.load(gate_ptr + at + row * HEADS, mask=row < tokens, other=0.0)
            news *= tl.where(row < tokens, exp(end - g), 0)[:, None]
            state *= exp(end)
            if K > 64:
                rest *= exp(end)
        news = news.to(k_ptr.dtype.element_ty)
        k = tl.make_block_ptr(k_ptr, (K, tokens), (1, HEADS * K), (0, c * C), (64, C), (0, 1))
        state += tl.dot(tl.load(k, boundary_check=(0, 1)), news)
        if K > 64:
            rest += tl.dot(tl.load(k.advance((64, 0)), boundary_check=(0, 1)), news)
    if KEEPS:
        to = tl.make_block_ptr(
            final_ptr + which * K * V, (K, V), (V, 1), (0, block * BV), (64, BV), (1, 0)
        )
        tl.store(to, state, boundary_check=(0, 1))
        if K > 64:
            tl.store(to.advance((64, 0)), rest, boundary_check=(0, 1))


def chunks_of(begins, size):
    """(sequence, chunk) of every chunk, and the number of the first one of each sequence."""
    counts = [triton.cdiv(int(b - a), size) for a, b in zip(begins, begins[1:])]
    names = np.array([(s, c) for s, n in enumerate(counts) for c in range(n)], np.int32)
    return names, np.cumsum([0, *counts]).astype(np.int32)


@pytest.mark.parametrize("begins", [(0, 11, 75), (0, 75)])
def test_inverse(device, begins):
    """The triangular matrix of each chunk is inverted."""
    heads, size = 2, 32
    a = random((75, heads, size), "fp32", 1) * np.float32(0.3)
    names, _ = chunks_of(begins, size)
    d_begins, d_names = device.to(np.array(begins, np.int32)), device.to(names)
    packed = len(begins) > 2
    out = device.output(a.shape, "fp32")
    inverse_kernel[(len(names), heads)](
        device.to(a), out.array, d_begins if packed else None, d_names if packed else None, 75,
        heads, size, num_warps=1,
    )  # fmt: skip
    for sequence, chunk in names:
        start = begins[sequence] + chunk * size
        stop = min(start + size, begins[sequence + 1])
        for head in range(heads):
            lower = np.tril(a[start:stop, head, : stop - start].astype(np.float64), -1)
            expected = np.zeros((stop - start, size))
            expected[:, : stop - start] = np.linalg.inv(np.eye(stop - start) + lower)
            np.testing.assert_allclose(
                out.numpy()[start:stop, head], expected, rtol=2e-5, atol=2e-5
            )


def states(k, w, v, gate, initial, size):
    """The states before each chunk, the corrected values and the last state of one head."""
    narrow = k.dtype

    def rounded(x):
        return x.astype(np.float32).astype(narrow).astype(np.float64)

    state, before, corrected = initial.astype(np.float64), [], []
    k, w, v = (x.astype(np.float64) for x in (k, w, v))
    for start in range(0, len(k), size):
        rows = slice(start, start + size)
        before.append(state)
        news = v[rows] - w[rows] @ rounded(state)
        corrected.append(news)
        if gate is not None:
            g = gate[rows].astype(np.float64)
            news, state = news * np.exp(g[-1] - g)[:, None], state * np.exp(g[-1])
        state = state + k[rows].T @ rounded(news)
    before = np.array(before).reshape(-1, *initial.shape)
    return before, np.concatenate([np.zeros((0, v.shape[1])), *corrected]), state


def close(x, y):
    np.testing.assert_allclose(x.astype(np.float64), y, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("without", [None, "producer-past-stores"])
@pytest.mark.parametrize(
    "begins, depth, gated, warps, stages, size",
    [
        ((0, 33, 90), 100, True, 4, 3, 32),
        ((0, 90), 64, False, 2, 2, 32),
        ((0, 90), 128, True, 4, 1, 32),
        ((0, 90), 128, True, 8, 2, 64),
        ((0, 90), 128, True, 4, 3, 64),
        ((0, 64, 64, 90), 128, True, 4, 4, 64),
    ],
)
def test_state(device, begins, depth, gated, warps, stages, size, without):
    """The state that a loop carries is that of the recurrence after each chunk."""
    heads, block = 2, 32 if warps == 4 else 64
    width = block + 8
    scale = np.float32(0.1)
    k, w = (
        (random((90, heads, depth), "fp32", s) * scale).astype(random(1, "bf16").dtype)
        for s in (1, 2)
    )
    v = random((90, heads, width), "bf16", 3)
    gate = -np.abs(random((90, heads), "fp32", 4)).cumsum(0) * np.float32(0.05) if gated else None
    count = len(begins) - 1
    initial = random((count, heads, depth, width), "fp32", 5)
    _, firsts = chunks_of(begins, size)
    before = device.output((int(firsts[-1]), heads, depth, width), "bf16")
    news = device.output(v.shape, "bf16")
    final = device.output(initial.shape, "fp32")
    state_kernel[(triton.cdiv(width, block), count, heads)](
        device.to(k), device.to(w), device.to(v), device.to(gate) if gated else None,
        device.to(initial), before.array, news.array, final.array,
        device.to(np.array(begins, np.int32)), device.to(firsts), 90, HEADS=heads, K=depth,
        V=width, C=size, BV=block, num_warps=warps, num_stages=stages,
        disabled_passes=without,
    )  # fmt: skip
    for s, (begin, end) in enumerate(zip(begins, begins[1:])):
        for h in range(heads):
            own = gate[begin:end, h] if gated else None
            expected = states(*(x[begin:end, h] for x in (k, w, v)), own, initial[s, h], size)
            close(before.numpy()[firsts[s] : firsts[s + 1], h], expected[0])
            close(news.numpy()[begin:end, h], expected[1])
            close(final.numpy()[s, h], expected[2])
