"""Layer norm forward and backward.

Backward sums dW and dB of rows into groups under spin locks, then over groups in a second kernel.
The forward pass loops over long rows in blocks. Rows are strided and their length is no power of two.
fp32 within 1e-4, fp16 within 5e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _layer_norm_fwd(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        _mean += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def _layer_norm_bwd_dx(
    DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N,
    GROUP_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE_N)
    mask = cols < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock_id = row % GROUP_SIZE_M
    Lock += lock_id
    Count = Lock + GROUP_SIZE_M
    DW = DW + lock_id * N + cols
    DB = DB + lock_id * N + cols
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tl.where(mask, xhat, 0.0)
    wdy = tl.where(mask, wdy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(DX + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = dy.to(w.dtype)
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask)
        partial_db += tl.load(DB, mask=mask)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def _layer_norm_bwd_dwdb(
    DW, DB, FINAL_DW, FINAL_DB, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr
):
    cols = tl.program_id(0) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    dw = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_SIZE_M):
        rows = i + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dw += tl.load(DW + offs, mask=mask, other=0.0)
        db += tl.load(DB + offs, mask=mask, other=0.0)
    tl.store(FINAL_DW + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(FINAL_DB + cols, tl.sum(db, axis=0), mask=cols < N)


def forward(x, w, b, eps):
    x = x.astype(np.float64)
    mean, rstd = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + eps)
    return (x - mean[:, None]) * rstd[:, None] * w + b, mean, rstd


def backward(x, w, dy, eps):
    x, w, dy = (a.astype(np.float64) for a in (x, w, dy))
    _, mean, rstd = forward(x, w, 0, eps)
    xhat, wdy = (x - mean[:, None]) * rstd[:, None], w * dy
    dx = wdy - xhat * (xhat * wdy).mean(axis=1, keepdims=True) - wdy.mean(axis=1, keepdims=True)
    return dx * rstd[:, None], (dy * xhat).sum(axis=0), dy.sum(axis=0)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("m, n, block", [(7, 300, 512), (3, 1000, 128)])
def test_results_and_statistics(device, dtype, m, n, block):
    """Results, means and deviations of rows are those of float64."""
    x, w, b = random((m, n), dtype, 1), random(n, dtype, 2), random(n, dtype, 3)
    y, mean, rstd = device.output((m, n), dtype), device.output(m, "fp32"), device.output(m, "fp32")
    _layer_norm_fwd[(m,)](
        device.to(x), y.array, device.to(w), device.to(b), mean.array, rstd.array, n, n, 1e-5,
        BLOCK_SIZE=block,
    )  # fmt: skip
    expected = forward(x, w.astype(np.float64), b.astype(np.float64), 1e-5)
    allowed = {"fp32": 1e-5, "fp16": 2e-3, "bf16": 1e-2}[dtype]
    np.testing.assert_allclose(
        y.numpy().astype(np.float64), expected[0], atol=allowed, rtol=allowed
    )
    np.testing.assert_allclose(mean.numpy(), expected[1], atol=1e-5)
    np.testing.assert_allclose(rstd.numpy(), expected[2], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
@pytest.mark.parametrize("m, n, groups", [(37, 200, 8), (5, 64, 16), (40, 100, 1)])
def test_backward(device, dtype, m, n, groups):
    """Gradients, those of the weights summed under locks, are those of float64."""
    if device.on_gpu:
        m, n = m * 40, n * 9
    x, w, dy = random((m, n), dtype, 4), random(n, dtype, 5), random((m, n), dtype, 6)
    _, mean, rstd = forward(x, w.astype(np.float64), 0.0, 1e-5)
    dx, dw, db = (device.output(s, d) for s, d in (((m, n), dtype), (n, "fp32"), (n, "fp32")))
    locks = device.to(np.zeros(2 * groups, np.int32))
    partial = [device.to(np.full((groups, n), np.nan, np.float32)) for _ in range(2)]
    _layer_norm_bwd_dx[(m,)](
        dx.array, device.to(dy), *partial, device.to(x), device.to(w),
        device.to(mean.astype(np.float32)), device.to(rstd.astype(np.float32)), locks, n, n,
        GROUP_SIZE_M=groups, BLOCK_SIZE_N=triton.next_power_of_2(n), num_warps=8,
    )  # fmt: skip
    _layer_norm_bwd_dwdb[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE_N"]),)](
        *partial, dw.array, db.array, min(groups, m), n, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128
    )
    assert not device.numpy(locks)[:groups].any()
    expected = backward(x, w, dy, 1e-5)
    allowed = 1e-5 if dtype == "fp32" else 3e-3
    np.testing.assert_allclose(
        dx.numpy().astype(np.float64), expected[0], atol=allowed, rtol=allowed
    )
    for result, sums in zip((dw, db), expected[1:]):
        np.testing.assert_allclose(result.numpy(), sums, atol=1e-4 * m**0.5, rtol=1e-4)
