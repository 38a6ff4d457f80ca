"""Attention over blocks of keys that a table names: row starts and columns, as in a CSR matrix.

The number of iterations and the address of each block come from memory.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def sparse_attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, starts_ptr, columns_ptr, scale, length, CAUSAL: tl.constexpr,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    block, head = tl.program_id(0), tl.program_id(1)
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    depth = tl.arange(0, D)
    base = head.to(tl.int64) * length * D
    q = tl.load(
        q_ptr + base + rows[:, None] * D + depth[None, :], mask=rows[:, None] < length, other=0.0
    )
    most = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for i in range(tl.load(starts_ptr + block), tl.load(starts_ptr + block + 1)):
        column = tl.load(columns_ptr + i) * BLOCK_N + tl.arange(0, BLOCK_N)
        k = tl.load(
            k_ptr + base + column[None, :] * D + depth[:, None],
            mask=column[None, :] < length,
            other=0.0,
        )
        s = tl.dot(q, k) * scale
        seen = column[None, :] < length
        if CAUSAL:
            seen = seen & (rows[:, None] >= column[None, :])
        s = tl.where(seen, s, float("-inf"))
        now = tl.maximum(most, tl.max(s, 1))
        shift = tl.where(now == float("-inf"), 0.0, now)
        p = tl.exp2(s - shift[:, None])
        alpha = tl.exp2(most - shift)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(
            v_ptr + base + column[:, None] * D + depth[None, :],
            mask=column[:, None] < length,
            other=0.0,
        )
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        most = now
    acc = tl.where(total[:, None] > 0, acc / total[:, None], 0.0)
    tl.store(
        out_ptr + base + rows[:, None] * D + depth[None, :], acc.to(out_ptr.dtype.element_ty),
        mask=rows[:, None] < length,
    )  # fmt: skip


@pytest.mark.parametrize(
    "length, depth, block, causal, warps, stages",
    [
        (200, 32, (64, 32), True, 4, 3),
        (128, 64, (64, 64), False, 4, 2),
        (150, 16, (32, 16), True, 1, 4),
        (256, 32, (128, 64), False, 8, 3),
    ],
)
def test_sparse_attention(device, length, depth, block, causal, warps, stages):
    heads, (block_m, block_n) = 2, block
    q, k, v = (random((heads, length, depth), "fp16") for _ in range(3))
    draw = np.random.default_rng(11)
    rows, columns = -(-length // block_m), -(-length // block_n)
    named = draw.uniform(size=(rows, columns)) < 0.6
    named[:, 0] = True
    named[-1] = False  # a row that sees nothing gives zeros
    starts = np.concatenate([[0], named.sum(1).cumsum()]).astype(np.int32)
    table = np.concatenate([draw.permutation(np.flatnonzero(row)) for row in named]).astype(
        np.int32
    )
    out = device.output((heads, length, depth), "fp16")
    scale = depth**-0.5
    sparse_attention_kernel[(rows, heads)](
        *(device.to(x) for x in (q, k, v)), out.array, device.to(starts), device.to(table),
        scale * 1.4426950408889634, length, causal, depth, block_m, block_n,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    seen = named.repeat(block_m, 0)[:length].repeat(block_n, 1)[:, :length]
    if causal:
        seen = seen & np.tri(length, dtype=bool)
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    p = np.exp(q @ k.transpose(0, 2, 1) * scale) * seen
    expected = np.divide(
        p @ v, p.sum(-1, keepdims=True), where=seen.any(1)[None, :, None], out=np.zeros_like(v)
    )
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, rtol=5e-3, atol=5e-3)
