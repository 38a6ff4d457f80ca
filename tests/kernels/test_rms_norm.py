"""RMS norm forward and backward, and with the residual added in the same pass.

One program per row, or a fixed number of programs that loop over rows and keep a partial dW each. Row
lengths are no powers of two. The fused kernel updates the residual in place. fp32 within 1e-5,
16-bit types within two of their roundings.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

ALLOWED = {"fp32": 1e-5, "fp16": 2e-3, "bf16": 1.6e-2}


@triton.jit
def rms_norm_kernel(
    output_ptr,
    input_ptr,
    weight_ptr,
    rstd_ptr,
    input_row_stride,
    n_cols,
    eps,
    OFFSET: tl.constexpr,
    CAST_EARLY: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(input_ptr + row * input_row_stride + cols, mask=mask, other=0)
    x_dtype = x.dtype
    x = x.to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    rstd = tl.math.rsqrt(mean_square + eps)
    tl.store(rstd_ptr + row, rstd)
    normal = x * rstd
    w = tl.load(weight_ptr + cols, mask=mask, other=0, eviction_policy="evict_last")
    if CAST_EARLY:
        y = normal.to(x_dtype) * (w + OFFSET)
    else:
        y = normal * (w.to(tl.float32) + OFFSET)
    tl.store(output_ptr + row * n_cols + cols, y, mask=mask)


@triton.jit
def rms_norm_backward_kernel(
    dx_ptr,
    dw_ptr,
    dy_ptr,
    x_ptr,
    w_ptr,
    rstd_ptr,
    n_rows,
    n_cols,
    rows_per_program,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(0)
    first = pid * rows_per_program
    last = min((pid + 1) * rows_per_program, n_rows)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    dw = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dy_ptr += first * n_cols
    x_ptr += first * n_cols
    dx_ptr += first * n_cols
    for row in range(first, last):
        dy = tl.load(dy_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        m = dy * w
        dx = rstd * m
        dx += rstd * (-(1 / n_cols) * rstd * rstd * tl.sum(m * x, axis=0) * x)
        dw += dy * (x * rstd)
        tl.store(dx_ptr + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dy_ptr += n_cols
        x_ptr += n_cols
        dx_ptr += n_cols
    tl.store(dw_ptr + pid * n_cols + cols, dw, mask=mask)


@triton.jit
def fused_add_rms_norm_kernel(
    x_ptr, residual_ptr, weight_ptr, x_stride, r_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    """x and residual become norm(x + residual) and x + residual."""
    pid = tl.program_id(0)
    x_ptr += pid * x_stride
    residual_ptr += pid * r_stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + cols, mask, other=0.0).to(tl.float32)
    r = tl.load(residual_ptr + cols, mask, other=0.0).to(tl.float32)
    x += r
    tl.store(residual_ptr + cols, x, mask=mask)
    var = tl.sum(x * x / n_cols, axis=0)
    rrms = 1 / tl.sqrt(var + eps)
    w = tl.load(weight_ptr + cols, mask=mask, other=0.0)
    y = (x * rrms).to(x_ptr.dtype.element_ty) * w
    tl.store(x_ptr + cols, y, mask=mask)


def rms_norm(x, w, eps, offset=0.0):
    x, w = x.astype(np.float64), w.astype(np.float64)
    rstd = 1 / np.sqrt((x * x).mean(axis=1) + eps)
    return x * rstd[:, None] * (w + offset), rstd


def gradients(x, w, dy, eps):
    x, w, dy = (a.astype(np.float64) for a in (x, w, dy))
    _, rstd = rms_norm(x, w, eps)
    r, m = rstd[:, None], dy * w
    dx = r * m - r**3 * x * (m * x).mean(axis=1, keepdims=True)
    return dx, (dy * x * r).sum(axis=0)


def close(result, expected, dtype):
    allowed = ALLOWED[dtype]
    np.testing.assert_allclose(result.astype(np.float64), expected, atol=allowed, rtol=allowed)


@pytest.mark.parametrize("early, offset", [(True, 0.0), (False, 1.0)])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_strided_rows(device, dtype, early, offset):
    """Rows of a strided array are normalised, cast before the weight or after it."""
    rows, n = (300, 4097) if device.on_gpu else (9, 519)
    whole, w = random((rows, n + 13), dtype, 1), random(n, dtype, 2)
    y, rstd = device.output((rows, n), dtype), device.output(rows, "fp32")
    rms_norm_kernel[(rows,)](
        y.array, device.to(whole)[:, :n], device.to(w), rstd.array, n + 13, n, 1e-6,
        OFFSET=offset, CAST_EARLY=early, BLOCK_SIZE=triton.next_power_of_2(n), num_warps=8,
    )  # fmt: skip
    expected, expected_rstd = rms_norm(whole[:, :n], w, 1e-6, offset)
    close(y.numpy(), expected, dtype)
    np.testing.assert_allclose(rstd.numpy(), expected_rstd, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("rows, n, programs", [(23, 300, 4), (3, 64, 8)])
def test_backward(device, dtype, rows, n, programs):
    """Gradients of the input, and partial sums of those of the weight, are those of float64."""
    x, w, dy = random((rows, n), dtype, 3), random(n, dtype, 4), random((rows, n), dtype, 5)
    _, rstd = rms_norm(x, w, 1e-6)
    dx, dw = device.output((rows, n), dtype), device.output((programs, n), "fp32")
    arrays = map(device.to, (dy, x, w, rstd.astype(np.float32)))
    rms_norm_backward_kernel[(programs,)](
        dx.array, dw.array, *arrays, rows, n, triton.cdiv(rows, programs),
        BLOCK_SIZE=triton.next_power_of_2(n),
    )  # fmt: skip
    expected_dx, expected_dw = gradients(x, w, dy, 1e-6)
    close(dx.numpy(), expected_dx, dtype)
    np.testing.assert_allclose(dw.numpy().sum(axis=0), expected_dw, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_fused_add(device, dtype):
    rows, n = (200, 2880) if device.on_gpu else (5, 360)
    x, residual, w = random((rows, n), dtype, 6), random((rows, n), dtype, 7), random(n, dtype, 8)
    d_x, d_r = device.to(x.copy()), device.to(residual.copy())
    fused_add_rms_norm_kernel[(rows,)](
        d_x, d_r, device.to(w), n, n, n, 1e-5, triton.next_power_of_2(n)
    )
    total = x.astype(np.float32) + residual.astype(np.float32)
    assert (device.numpy(d_r) == total.astype(x.dtype)).all()
    expected, _ = rms_norm(total, w, 1e-5)
    close(device.numpy(d_x), expected, dtype)
