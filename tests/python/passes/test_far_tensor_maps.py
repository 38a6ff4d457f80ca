"""Operands of dots at addresses that a coordinate of 32 bits does not reach: what TMA loads and stores is what the
kernel's 64-bit arithmetic says, or plain loads do it."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

FAR = 2**31


@triton.jit
def batched(
    a_ptr, b_ptr, c_ptr, first, stride, BATCH: tl.constexpr, K: tl.constexpr, B: tl.constexpr
):
    """Matrices a constant step apart, whose number is widened; results are written next to their operands."""
    batch = tl.program_id(0)
    if batch < first:
        return
    r = tl.arange(0, B)
    a = a_ptr + batch.to(tl.int64) * BATCH + r[:, None] * stride + r[None, :]
    b = b_ptr + r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, K, B):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += B
        b += B * B
    c = c_ptr + batch.to(tl.int64) * BATCH + r[:, None] * stride + r[None, :]
    tl.store(c, acc.to(tl.float16))


@pytest.mark.parametrize("enabled", ["", "nv-tma-stores"])
@pytest.mark.parametrize("step", [40064, 2048 * 9, 40068])
def test_constant_steps(device, step, enabled):
    stride, depth = 144, 128
    first, last = FAR // step - 1, FAR // step + 3
    a, out = device.empty(last * step, np.float16), device.empty(last * step, np.float16)
    b = random((depth, 64), "fp16")
    rows = {i: random((64, stride), "fp16") for i in range(first, last)}
    for i, values in rows.items():
        a[i * step : i * step + values.size] = device.to(values.reshape(-1))
    batched[(last,)](
        a, device.to(b), out, first, stride, BATCH=step, K=depth, B=64, enabled_passes=enabled
    )
    for i, values in rows.items():
        got = device.numpy(out[i * step : i * step + 64 * stride]).reshape(64, stride)[:, :64]
        exact = values[:, :depth].astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(got.astype(np.float64), exact, rtol=2e-3, atol=2e-2)


@triton.jit
def far_columns(a_ptr, b_ptr, c_ptr, start, steps, stride, WIDE: tl.constexpr, B: tl.constexpr):
    """Columns beyond 2^31 elements: the pointer advances, and no 32-bit number counts them."""
    r = tl.arange(0, B)
    begin = start.to(tl.int64) * B if WIDE else start * B
    a = a_ptr + begin + r[:, None] * stride + r[None, :]
    b = b_ptr + r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, steps):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += B
        b += B * B
    tl.store(c_ptr + r[:, None] * B + r[None, :], acc)


@pytest.mark.parametrize("start", [FAR // 64 - 2, FAR // 64, 5])
def test_far_columns(device, start):
    stride, steps = 1024, 4
    a = device.empty((start + steps) * 64 + 64 * stride, np.float16)
    x, b, out = (
        random((64, steps * 64), "fp16"),
        random((steps * 64, 64), "fp16"),
        device.output((64, 64), "fp32"),
    )
    for row in range(64):
        a[row * stride + start * 64 :][: steps * 64] = device.to(x[row])
    far_columns[(1,)](a, device.to(b), out.array, start, steps, stride, WIDE=True, B=64)
    exact = x.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-3, atol=1e-2)


@triton.jit
def ragged(a_ptr, b_ptr, c_ptr, starts, ends, depth, stride, B: tl.constexpr):
    """Rows from a number that memory has to another, which may be the largest integer."""
    start, end = tl.load(starts + tl.program_id(0)), tl.load(ends + tl.program_id(0))
    r = tl.arange(0, B)
    rows = start + r
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(
            a_ptr + rows[:, None] * stride + (k + r)[None, :], mask=rows[:, None] < end, other=0.0
        )
        acc = tl.dot(x, tl.load(b_ptr + (k + r)[:, None] * B + r[None, :]), acc)
    tl.store(c_ptr + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], acc)


@pytest.mark.parametrize("before", [0, 133, 1000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_ends_far_away(device, dtype, before):
    """`before` rows lie before the argument, where the numbers are negative."""
    rows, depth = 1200, 128
    a, b = random((rows, depth), "fp16"), random((depth, 64), "fp16")
    starts = np.array([0, 100, 136, 7, 50, 3, 5], dtype) - before
    least = np.iinfo(dtype).min
    ends = [FAR - 1, 130 - before, FAR - 1, 7 - before, -5 - before, 2**30, least]
    ends = np.array(ends, dtype)
    out = device.output((len(starts), 64, 64), "fp32")
    ragged[(len(starts),)](
        device.to(a.reshape(-1))[before * depth :], device.to(b), out.array,
        device.to(starts), device.to(ends), depth, depth, B=64,
    )  # fmt: skip
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        first = before + start
        x = a[first : before + min(start + 64, max(end, start))].astype(np.float64)
        exact = np.zeros((64, 64))
        exact[: len(x)] = x @ b.astype(np.float64)
        np.testing.assert_allclose(out.numpy()[i], exact, rtol=1e-3, atol=1e-2)


@triton.jit
def negative_quotients(a_ptr, b_ptr, c_ptr, stride, by: tl.constexpr, B: tl.constexpr):
    """Rows before the argument, where programs count down."""
    r = tl.arange(0, B)
    rows = (tl.program_id(0).to(tl.int64) // by) * B + r
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, stride, B):
        x = tl.load(a_ptr + rows[:, None] * stride + (k + r)[None, :])
        acc = tl.dot(x, tl.load(b_ptr + (k + r)[:, None] * B + r[None, :]), acc)
    tl.store(c_ptr + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], acc)


@pytest.mark.parametrize("by", [-1, -2, 2])
def test_negative_quotients(device, by):
    a, b = random((4 * 64, 128), "fp16"), random((128, 64), "fp16")
    out = device.output((3, 64, 64), "fp32")
    middle = device.to(a.reshape(-1))[2 * 64 * 128 :]
    negative_quotients[(3,)](middle, device.to(b), out.array, 128, by, B=64)
    for i in range(3):
        first = 2 + int(i / by)
        exact = a[first * 64 : first * 64 + 64].astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(out.numpy()[i], exact, rtol=1e-3, atol=1e-2)


@triton.jit
def placed(a_ptr, b_ptr, c_ptr, table, m, depth, stride, B: tl.constexpr, MASKED: tl.constexpr):
    """Indirect tiles of rows, by numbers that may lie beyond 2^30, or nowhere under a mask."""
    r = tl.arange(0, B)
    rows = tl.load(table + tl.program_id(0)) + r
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        at = a_ptr + rows[:, None].to(tl.int64) * stride + (k + r)[None, :]
        x = tl.load(at, mask=rows[:, None] < m, other=0.0) if MASKED else tl.load(at)
        acc = tl.dot(x, tl.load(b_ptr + (k + r)[:, None] * B + r[None, :]), acc)
    tl.store(c_ptr + tl.program_id(0) * B * B + r[:, None] * B + r[None, :], acc)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "stride,first", [(16, 2**30 + 5), (64, 2**30 + 5), (64, 2**26 + 3), (64, 77)]
)
def test_tables_of_far_rows(device, stride, first, masked):
    depth = 64
    a = device.empty((first + 300) * stride + 64, np.float16)
    table = [first, first + 100, first + 64]
    x = random((300, stride), "fp16")
    a[first * stride :][: x.size] = device.to(x.reshape(-1))
    if masked:
        table += [FAR - 100, FAR - 1 - 64, first + 300]
    b, out = random((depth, 64), "fp16"), device.output((len(table), 64, 64), "fp32")
    placed[(len(table),)](
        a, device.to(b), out.array, device.to(np.array(table, np.int32)), first + 300, depth, stride,
        B=64, MASKED=masked,
    )  # fmt: skip
    flat = np.concatenate([x.reshape(-1), np.zeros(64, np.float16)]).astype(np.float64)
    for i, row in enumerate(table):
        exact = np.zeros((64, 64))
        for j in range(64):
            if row + j < first + 300:
                at = (row + j - first) * stride
                exact[j] = flat[at : at + depth] @ b.astype(np.float64)
        np.testing.assert_allclose(out.numpy()[i], exact, rtol=1e-3, atol=1e-2)
