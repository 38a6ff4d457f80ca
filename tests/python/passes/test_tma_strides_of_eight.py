"""Dots of matrices whose rows are multiples of 8 elements, but not of 16, which the launch finds out; and of any other length."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

ROWS, COLUMNS, DEPTH = 77, 101, 90
EDGES = ["modulo", "choice", "limit", "mask"]


@triton.jit
def indices(first, end, B: tl.constexpr, EDGE: tl.constexpr):
    at = first + tl.arange(0, B)
    if EDGE == "modulo":
        at = at % end
    elif EDGE == "choice":
        at = tl.where(at < end, at, 0)
    elif EDGE == "limit":
        at = tl.minimum(at, end - 1)
    return at


@triton.jit
def gemm(
    a, b, out, m, n, depth, stride_am, stride_ak, stride_bk, stride_bn, stride_om,
    EDGE: tl.constexpr, B: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows, columns = tl.program_id(0) * B, tl.program_id(1) * B
    at, across, within = indices(rows, m, B, EDGE), indices(columns, n, B, EDGE), tl.arange(0, BK)
    a += at[:, None] * stride_am + within[None, :] * stride_ak
    b += within[:, None] * stride_bk + across[None, :] * stride_bn
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, BK):
        inside = k + within < depth
        if EDGE == "mask":
            x = tl.load(a, (at < m)[:, None] & inside[None, :], 0.0)
            y = tl.load(b, inside[:, None] & (across < n)[None, :], 0.0)
        else:
            x = tl.load(a, inside[None, :], 0.0)
            y = tl.load(b, inside[:, None], 0.0)
        acc = tl.dot(x, y, acc)
        a += BK * stride_ak
        b += BK * stride_bk
    at, across = rows + tl.arange(0, B), columns + tl.arange(0, B)
    inside = (at < m)[:, None] & (across < n)[None, :]
    tl.store(out + at[:, None] * stride_om + across[None, :], acc, inside)


def operand(device, shape, turned, extra, dtype, seed):
    """A matrix, on the device the first element of it, and its strides; each line has `extra` further elements."""
    lines, length = reversed(shape) if turned else shape
    whole = random((lines, length + extra), dtype, seed)
    part = whole[:, :length]
    strides = (1, length + extra) if turned else (length + extra, 1)
    return (part.T if turned else part), device.to(whole), strides


def padding(length, unit):
    """What makes a length a multiple of `unit` and not of 16."""
    extra = -length % unit
    return extra if (length + extra) % 16 else extra + unit


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("turned", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("dtype, unit", [("fp16", 8), ("fp32", 4), ("fp16", 1), ("bf16", 2)])
def test_lengths_of_rows(device, dtype, unit, turned, edge):
    shapes = [(ROWS, DEPTH), (DEPTH, COLUMNS)]
    operands = []
    for i, shape in enumerate(shapes):
        is_turned = turned[i] == "t"
        extra = padding(shape[0] if is_turned else shape[1], unit)
        operands.append(operand(device, shape, is_turned, extra, dtype, i + 1))
    (a, device_a, strides_a), (b, device_b, strides_b) = operands
    out = device.output((ROWS, COLUMNS), "fp32")
    kernel = gemm[(triton.cdiv(ROWS, 64), triton.cdiv(COLUMNS, 64))](
        device_a, device_b, out.array, ROWS, COLUMNS, DEPTH, *strides_a, *strides_b, COLUMNS,
        EDGE=edge, B=64, BK=32, num_stages=3,
    )  # fmt: skip
    loose = {"rtol": 1e-2, "atol": 1e-1} if dtype == "fp32" else {"rtol": 1e-2, "atol": 5e-2}
    np.testing.assert_allclose(out.numpy(), a.astype(np.float64) @ b.astype(np.float64), **loose)
    if device.name in ("emulated", "cuda") and device.arch == 90:
        told = [r.message for r in kernel.remarks if "load is converted to TMA" in r.message]
        # Of fp32 those that fit no map are copied, so none is found out at launch.
        assert len(told) == (2 if dtype != "fp32" else 0)
        assert all("is a multiple of" in message for message in told)


@triton.jit
def batched(a, b, out, depth, stride_az, stride_am, stride_bz, stride_bk, B: tl.constexpr):
    z, within = tl.program_id(0), tl.arange(0, B)
    a += z * stride_az + within[:, None] * stride_am + within[None, :]
    b += z * stride_bz + within[:, None] * stride_bk + within[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        acc = tl.dot(tl.load(a + k), tl.load(b + k * stride_bk), acc)
    tl.store(out + (z * B + within[:, None]) * B + within[None, :], acc)


@pytest.mark.parametrize("gap", [0, 8, 24, 3])
def test_matrices_of_a_batch(device, gap):
    """Matrices that are apart by a multiple of 8 elements, or by another number, for which no map is made."""
    count, depth, B = 3, 128, 64
    a = random((count, 64 * 136 + gap), "fp16", 1)
    b = random((count, 128 * 72 + gap), "fp16", 2)
    out = device.output((count, 64, 64), "fp32")
    kernel = batched[(count,)](
        device.to(a), device.to(b), out.array, depth, 64 * 136 + gap, 136, 128 * 72 + gap, 72,
        B=B, num_stages=3,
    )  # fmt: skip
    left = a[:, : 64 * 136].reshape(count, 64, 136)[:, :, :depth].astype(np.float64)
    right = b[:, : 128 * 72].reshape(count, 128, 72)[:, :, :64].astype(np.float64)
    np.testing.assert_allclose(out.numpy(), left @ right, rtol=1e-2, atol=5e-2)
    if device.name in ("emulated", "cuda") and device.arch == 90:
        assert sum("load is converted to TMA" in r.message for r in kernel.remarks) == 2
