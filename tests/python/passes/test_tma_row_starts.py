"""Operands of dots whose rows begin anywhere: TMA takes those that begin at multiples of 16 bytes."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


def on_tma(device):
    return device.name in ("emulated", "cuda") and device.arch == 90


@triton.jit
def matmul(a, b, c, first, depth, stride, starts, WAY: tl.constexpr, B: tl.constexpr):
    """C = A[:, k : k + depth] B[:, k : k + depth]^T, k from an argument, a program's number or memory."""
    if WAY == "program":
        first = tl.program_id(0) * 3
    elif WAY == "block":
        first = tl.program_id(0) * B
    elif WAY == "memory":
        first = tl.load(starts + tl.program_id(0))
    elif WAY == "hint":
        first = tl.multiple_of(tl.maximum(tl.load(starts + tl.program_id(0)), 0), 8)
    rows, within = tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(first, first + depth, B):
        columns = k + within
        if WAY == "masked":
            x = tl.load(
                a + rows[:, None] * stride + columns[None, :], columns[None, :] < first + depth, 0.0
            )
        else:
            x = tl.load(a + rows[:, None] * stride + columns[None, :])
        y = tl.load(b + rows[None, :] * stride + columns[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + tl.program_id(0) * B * B + rows[:, None] * B + rows[None, :], acc)


WAYS = [("argument", first) for first in (0, 1, 7, 8, 64, 71)]
WAYS += [("masked", 3), ("masked", 16), ("program", 0), ("block", 0), ("memory", 5), ("hint", 24)]
TAKEN = [("block", 0), ("hint", 24), *(("argument", first) for first in (0, 64))]


@pytest.mark.parametrize("way, first", WAYS)
def test_starts(device, way, first):
    """Rows that begin anywhere give the right dot."""
    depth, stride, programs = 192, 512, 3
    a, b = random((64, stride), "fp16", 1), random((64, stride), "fp16", 2)
    out = device.output((programs, 64, 64), "fp32")
    places = first + np.arange(programs, dtype=np.int32) * (40 if way == "hint" else 9)
    kernel = matmul[(programs,)](
        device.to(a), device.to(b), out.array, first, depth, stride, device.to(places),
        WAY=way, B=64, num_stages=3,
    )  # fmt: skip
    if way == "program":
        places = np.arange(programs) * 3
    elif way == "block":
        places = np.arange(programs) * 64
    elif way in ("argument", "masked"):
        places = [first] * programs
    exact = [
        a[:, k : k + depth].astype(np.float64) @ b[:, k : k + depth].astype(np.float64).T
        for k in places
    ]
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-3, atol=1e-2)
    if on_tma(device):
        raised = "load is converted to TMA" in " ".join(r.message for r in kernel.remarks)
        assert raised or (way, first) not in TAKEN
        assert not raised or way not in ("program", "memory")


@triton.jit
def by_descriptor(a, b, c, first, depth, stride, width, B: tl.constexpr):
    x = tl.make_tensor_descriptor(a, [B, width], [stride, 1], [B, B])
    y = tl.make_tensor_descriptor(b, [B, width], [stride, 1], [B, B])
    out = tl.make_tensor_descriptor(c, [B, B], [B, 1], [B, B])
    acc = tl.zeros((B, B), tl.float32)
    for k in range(first, first + depth, B):
        acc = tl.dot(x.load([0, k]), y.load([0, k]).T, acc)
    out.store([0, 0], acc)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("first", [-9, 1, 3, 4, 8, 77])
def test_columns_of_descriptors(device, first, dtype):
    """Columns before the first and after the last are zeros."""
    depth, width = 192, 256
    a, b = random((64, width), dtype, 1), random((64, width), dtype, 2)
    out = device.output((64, 64), "fp32")
    by_descriptor[(1,)](
        device.to(a), device.to(b), out.array, first, depth, width, width, B=64, num_stages=3
    )
    taken = slice(max(first, 0), min(first + depth, width))
    exact = a[:, taken].astype(np.float64) @ b[:, taken].astype(np.float64).T
    loose = {"rtol": 1e-2, "atol": 5e-2} if dtype == "fp32" else {"rtol": 1e-3, "atol": 1e-2}
    np.testing.assert_allclose(out.numpy(), exact, **loose)
