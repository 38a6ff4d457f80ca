"""SwiGLU and GEGLU, forward and backward, on two arrays or on one that holds both halves.

Backward recomputes the activation and overwrites its inputs. libdevice's tanh and erf are used as
libraries do. fp32 within 1e-5, 16-bit types within three of their roundings.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from pantile.language.extra.libdevice import tanh

ALLOWED = {"fp32": 2e-5, "fp16": 3e-3, "bf16": 2.4e-2}


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu_forward_kernel(
    a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr
):
    program_id = tl.program_id(0).to(tl.int64)
    a_ptr += program_id * stride
    b_ptr += program_id * stride
    c_ptr += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    a_row = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    c_row = silu(a_row).cast(b_row.dtype) * b_row
    tl.store(c_ptr + col_offsets, c_row, mask=mask)


@triton.jit
def swiglu_backward_kernel(
    dc_ptr, a_ptr, b_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr
):
    program_id = tl.program_id(0).to(tl.int64)
    dc_ptr += program_id * stride
    a_ptr += program_id * stride
    b_ptr += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    dc_row = tl.load(dc_ptr + col_offsets, mask=mask, other=0)
    a_row = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    sig_a = tl.sigmoid(a_row)
    silu_a = a_row * sig_a
    db_row = dc_row * silu_a
    da_row = dc_row * (silu_a * (1 - sig_a) + sig_a) * b_row
    tl.store(a_ptr + col_offsets, da_row, mask=mask)
    tl.store(b_ptr + col_offsets, db_row, mask=mask)


@triton.jit
def _gelu(x, EXACT: tl.constexpr):
    if EXACT:
        return 0.5 * x * (1.0 + tl.math.erf(x * 0.7071067811865476))
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + tanh(inner))


@triton.jit
def _gelu_gradient(x, EXACT: tl.constexpr):
    if EXACT:
        density = 0.3989422804014327 * tl.exp(-0.5 * x * x)
        return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476)) + x * density
    cubed = 0.044715 * x * x * x
    t = tanh(0.7978845608028654 * (x + cubed))
    return 0.5 * (1 + t) + 0.5 * (1 - t * t) * 0.7978845608028654 * (x + 3 * cubed)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 4, "BLOCK_N": 128}, num_warps=4),
        triton.Config({"BLOCK_M": 8, "BLOCK_N": 256}, num_warps=8),
    ],
    key=["n_rows", "n_cols"],
)
@triton.jit
def geglu_packed_forward_kernel(
    x_ptr, out_ptr, n_rows, n_cols, stride_x, stride_o,
    EXACT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Rows hold the gate first, then the values."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < n_rows) & (cols < n_cols)
    gate = tl.load(x_ptr + rows * stride_x + cols, mask=mask).to(tl.float32)
    up = tl.load(x_ptr + rows * stride_x + n_cols + cols, mask=mask).to(tl.float32)
    out = _gelu(gate, EXACT) * up
    tl.store(out_ptr + rows * stride_o + cols, out.to(out_ptr.type.element_ty), mask=mask)


@triton.jit
def geglu_packed_backward_kernel(
    x_ptr, dy_ptr, n_elements, n_cols, EXACT: tl.constexpr, BLOCK_SIZE: tl.constexpr
):
    """One flat index over (rows, cols); both halves of x become their gradients."""
    index = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = index < n_elements
    row, col = index // n_cols, index % n_cols
    at = row * (2 * n_cols) + col
    gate = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + at + n_cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + index, mask=mask, other=0.0).to(tl.float32)
    tl.store(x_ptr + at, dy * up * _gelu_gradient(gate, EXACT), mask=mask)
    tl.store(x_ptr + at + n_cols, dy * _gelu(gate, EXACT), mask=mask)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x, exact):
    """GELU and its derivative in float64."""
    if exact:
        from math import erf

        phi = 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))
        return x * phi, phi + x * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    t = np.tanh(inner)
    slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope


def close(result, expected, dtype):
    allowed = ALLOWED[dtype]
    np.testing.assert_allclose(result.astype(np.float64), expected, atol=allowed, rtol=allowed)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_swiglu(device, dtype):
    """SwiGLU and its gradients in place are those of float64."""
    rows, n = (300, 11008) if device.on_gpu else (7, 688)
    n -= 3
    a, b, dc = (random((rows, n), dtype, seed) for seed in (1, 2, 3))
    d_a, d_b, d_dc, c = (
        device.to(a.copy()),
        device.to(b.copy()),
        device.to(dc),
        device.output((rows, n), dtype),
    )
    options = {"n_cols": n, "BLOCK_SIZE": triton.next_power_of_2(n), "num_warps": 8}
    swiglu_forward_kernel[(rows,)](d_a, d_b, c.array, n, **options)
    swiglu_backward_kernel[(rows,)](d_dc, d_a, d_b, n, **options)
    a, b, dc = (x.astype(np.float64) for x in (a, b, dc))
    s = sigmoid(a)
    close(c.numpy(), a * s * b, dtype)
    close(device.numpy(d_a), dc * b * (s + a * s * (1 - s)), dtype)
    close(device.numpy(d_b), dc * a * s, dtype)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_geglu(device, dtype, exact):
    """GEGLU on packed halves, and its gradient, are those of float64."""
    rows, n = (300, 3001) if device.on_gpu else (11, 301)
    x, dy = random((rows, 2 * n), dtype, 4), random((rows, n), dtype, 5)
    d_x, out = device.to(x.copy()), device.output((rows, n), dtype)

    def grid(meta):
        return (triton.cdiv(rows, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]))

    geglu_packed_forward_kernel[grid](d_x, out.array, rows, n, 2 * n, n, EXACT=exact)
    geglu_packed_backward_kernel[(triton.cdiv(rows * n, 512),)](
        d_x, device.to(dy), rows * n, n, EXACT=exact, BLOCK_SIZE=512
    )
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    value, slope = gelu(gate, exact)
    close(out.numpy(), value * up, dtype)
    dy = dy.astype(np.float64)
    close(device.numpy(d_x), np.concatenate([dy * up * slope, dy * value], axis=1), dtype)
