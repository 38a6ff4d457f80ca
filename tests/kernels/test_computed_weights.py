"""Dots whose operands a loop computes from what it loads, in the order in which kernels write them:
transposed, reshaped, read again, and at blocks that are known late."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

K = 256


@triton.jit
def weights_kernel(
    x, w, scales, zeros, table, out, sums, K, WAY: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    B: tl.constexpr,
):  # fmt: skip
    """x (M, K) by w (K, N); w has columns as rows where it is transposed or reshaped."""
    m, n, at = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B)
    acc, total = tl.zeros((M, N), tl.float32), tl.zeros((B, N), tl.float16)
    for k in range(0, K, B):
        a_ptrs, w_ptrs = x + m[:, None] * K + at[None, :], w + (k + at)[:, None] * N + n[None, :]
        if WAY == "transposed":
            b = tl.trans(tl.load(w + n[:, None] * K + (k + at)[None, :])).to(tl.float16)
            acc = tl.dot(tl.load(a_ptrs + k), b, acc)
        elif WAY == "left":
            a = tl.trans(tl.load(w + (k + at)[:, None] * N + n[None, :])).to(tl.float16)
            acc += tl.trans(tl.dot(a, tl.trans(tl.load(a_ptrs + k))))
        elif WAY == "reshaped":
            b = tl.reshape(tl.load(w + k * N + tl.arange(0, B * N)), (B, N)).to(tl.float16)
            acc = tl.dot(tl.load(a_ptrs + k), b, acc)
        elif WAY == "late block":
            b = tl.load(w_ptrs).to(tl.float16) * 2
            acc = tl.dot(tl.load(a_ptrs + k // (2 * B) * B), b, acc)
        elif WAY == "from a table":
            b = tl.load(w_ptrs).to(tl.float16) * 2
            acc = tl.dot(tl.load(a_ptrs + tl.load(table + k // B) * B), b, acc)
        elif WAY == "vectors":
            b = tl.load(w_ptrs).to(tl.float16) - tl.load(zeros + k // B * N + n)[None, :]
            part = tl.dot(tl.load(a_ptrs + k), b)
            acc += part * tl.load(scales + k // (2 * B) * N + n)[None, :]
        elif WAY == "ragged vector":
            part = tl.dot(tl.load(a_ptrs + k), tl.load(w_ptrs).to(tl.float16))
            acc += part * tl.load(scales + k // B * N + n, mask=n < N - 7, other=0)[None, :]
        elif WAY == "read again":
            b = tl.load(w_ptrs).to(tl.float16)
            acc = tl.dot(tl.load(a_ptrs + k), b, acc)
            total += b
    tl.store(out + m[:, None] * N + n[None, :], acc)
    if WAY == "read again":
        tl.store(sums + at[:, None] * N + n[None, :], total)


def blocks(x, size):
    return [x[:, k : k + size] for k in range(0, x.shape[1], size)]


WAYS = [
    "transposed", "left", "reshaped", "late block", "from a table", "vectors", "ragged vector",
    "read again",
]  # fmt: skip


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize(
    "tile, warps",
    [
        ((16, 128, 64), 4),
        ((64, 64, 32), 4),
        ((32, 256, 32), 8),
        ((16, 256, 64), 8),
        ((48, 64, 64), 2),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_weights(device, way, tile, warps, stages):
    """Every element against float64."""
    M, N, B = tile
    x, w = random((M, K), "fp16", seed=1), random((K, N), "i8", seed=2, low=-8, high=8)
    scales, zeros = random((K // B, N), "fp32", seed=3), random((K // B, N), "fp16", seed=4)
    table = np.random.default_rng(5).permutation(K // B).astype(np.int32)
    out, sums = device.output((M, N), "fp32"), device.output((B, N), "fp16")
    stored = np.ascontiguousarray(w.T) if way == "transposed" else w
    weights_kernel[(1,)](
        device.to(x), device.to(stored), device.to(scales), device.to(zeros), device.to(table),
        out.array, sums.array, K, way, M, N, B, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    xs, ws = blocks(x.astype(np.float64), B), w.astype(np.float64).reshape(K // B, B, N)
    if way == "late block":
        xs, ws = [xs[i // 2] for i in range(K // B)], 2 * ws
    elif way == "from a table":
        xs, ws = [xs[i] for i in table], 2 * ws
    elif way == "vectors":
        ws = np.float16(w.reshape(K // B, B, N) - zeros[:, None]).astype(np.float64)
    parts = [a @ b for a, b in zip(xs, ws, strict=True)]
    if way == "vectors":
        parts = [part * scales[i // 2] for i, part in enumerate(parts)]
    elif way == "ragged vector":
        scales[:, N - 7 :] = 0
        parts = [part * scale for part, scale in zip(parts, scales, strict=True)]
    size = sum(np.abs(a) @ np.abs(b) for a, b in zip(xs, ws, strict=True))
    factor = np.abs(scales).max() if "vector" in way else 1
    assert (np.abs(out.numpy() - sum(parts)) <= 2.0**-15 * size * max(factor, 1) + 1e-5).all()
    if way == "read again":
        np.testing.assert_array_equal(sums.numpy(), ws.sum(0))
