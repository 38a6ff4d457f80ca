"""Row-wise softmax and normalisation: reductions feeding element-wise work."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def softmax_kernel(out_ptr, x_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_stride + columns, mask=columns < n_cols, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(
        out_ptr + row * n_cols + columns,
        numerator / tl.sum(numerator, axis=0),
        mask=columns < n_cols,
    )


@triton.jit
def block_softmax_kernel(out_ptr, x_ptr, N: tl.constexpr, M: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(out_ptr + offsets, e / tl.sum(e, 1)[:, None])


@triton.jit
def layer_norm_kernel(out_ptr, x_ptr, weight_ptr, bias_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_cols
    y = centred * tl.rsqrt(variance + eps)
    y = y * tl.load(weight_ptr + columns, mask=mask) + tl.load(bias_ptr + columns, mask=mask)
    tl.store(out_ptr + row * n_cols + columns, y, mask=mask)


def softmax(x):
    x = x.astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 64), (17, 781), (4, 2048)], ids=str)
def test_softmax_of_any_row_length(device, shape):
    """The softmax of rows of any length is that of float64."""
    x = random(shape, "fp32", seed=1)
    out = device.output(shape, "fp32")
    block = triton.next_power_of_2(shape[1])
    softmax_kernel[(shape[0],)](out.array, device.to(x), shape[1], shape[1], BLOCK=block)
    np.testing.assert_allclose(out.numpy(), softmax(x), rtol=1e-5, atol=1e-7)


def test_strided_rows(device):
    """Rows of a wider array: the stride is not the number of columns."""
    whole = random((9, 300), "fp32", seed=2)
    out = device.output((9, 100), "fp32")
    softmax_kernel[(9,)](out.array, device.to(whole)[:, :100], 300, 100, BLOCK=128)
    np.testing.assert_allclose(out.numpy(), softmax(whole[:, :100]), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_whole_block(device, warps):
    x = random((32, 128), "fp32", seed=3)
    out = device.output((32, 128), "fp32")
    block_softmax_kernel[(1,)](out.array, device.to(x), N=128, M=32, num_warps=warps)
    np.testing.assert_allclose(out.numpy(), softmax(x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_layer_norm(device, dtype):
    x, weight, bias = random((11, 200), dtype, 4), random(200, "fp32", 5), random(200, "fp32", 6)
    out = device.output((11, 200), "fp32")
    args = [device.to(v) for v in (x, weight, bias)]
    layer_norm_kernel[(11,)](out.array, *args, 200, 1e-5, BLOCK=256)
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out.numpy(), normal * weight + bias, rtol=1e-4, atol=1e-4)
