"""Convolutions as implicit GEMMs: forward, gradients of input and weight.

Forward (NCHW or NHWC by strides, groups, stride, padding, dilation) gathers the operand of the
GEMM by index arithmetic; the weight's gradient sums over pixels, by atomics. Depthwise
convolution and pooling run without dots. Halves within 1e-3 of the sum of magnitudes.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, BATCH, HEIGHT, WIDTH, OUT_H, OUT_W, IN_C, OUT_C,
    stride_xn, stride_xc, stride_xh, stride_xw, stride_wo, stride_wc, stride_wr, stride_ws,
    stride_yn, stride_yc, stride_yh, stride_yw,
    R: tl.constexpr, S: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    DILATION: tl.constexpr, GROUPS: tl.constexpr, HAS_BIAS: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_O: tl.constexpr,
):  # fmt: skip
    """Rows of the GEMM are output pixels, columns output channels of a group."""
    group = tl.program_id(2)
    in_c, out_c = IN_C // GROUPS, OUT_C // GROUPS
    pixel = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    column = pixel % OUT_W
    row = pixel // OUT_W % OUT_H
    image = pixel // (OUT_W * OUT_H)
    o = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    x_base = x_ptr + image * stride_xn + group * in_c * stride_xc
    w_base = w_ptr + (group * out_c + o) * stride_wo
    blocks_c = tl.cdiv(in_c, BLOCK_C)
    acc = tl.zeros((BLOCK_P, BLOCK_O), dtype=tl.float32)
    for step in range(R * S * blocks_c):
        c = step % blocks_c * BLOCK_C + tl.arange(0, BLOCK_C)
        rs = step // blocks_c
        r, s = rs // S, rs % S
        h = row * STRIDE - PAD + r * DILATION
        w = column * STRIDE - PAD + s * DILATION
        inside = (image < BATCH) & (h >= 0) & (h < HEIGHT) & (w >= 0) & (w < WIDTH)
        x_ptrs = (x_base + h * stride_xh + w * stride_xw)[:, None] + (c * stride_xc)[None, :]
        x = tl.load(x_ptrs, mask=inside[:, None] & (c < in_c)[None, :], other=0.0)
        w_ptrs = (w_base + r * stride_wr + s * stride_ws)[None, :] + (c * stride_wc)[:, None]
        weight = tl.load(w_ptrs, mask=(c < in_c)[:, None] & (o < out_c)[None, :], other=0.0)
        acc += tl.dot(x, weight)
    if HAS_BIAS:
        acc += tl.load(bias_ptr + group * out_c + o, mask=o < out_c, other=0.0)[None, :]
    y_base = y_ptr + image * stride_yn + row * stride_yh + column * stride_yw
    y_ptrs = y_base[:, None] + ((group * out_c + o) * stride_yc)[None, :]
    mask = (image < BATCH)[:, None] & (o < out_c)[None, :]
    tl.store(y_ptrs, acc.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def weight_gradient_kernel(
    x_ptr, dy_ptr, dw_ptr, BATCH, C, HEIGHT, WIDTH, O, OUT_H, OUT_W, R, S,
    STRIDE: tl.constexpr, PAD: tl.constexpr,
    BLOCK_O: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_P: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """dw (O, C R S) = dy (O, pixels) times the patches (pixels, C R S); pixels are split."""
    o = tl.program_id(0) * BLOCK_O + tl.arange(0, BLOCK_O)
    e = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)
    c, r, s = e // (R * S), e // S % R, e % S
    pixels = BATCH * OUT_H * OUT_W
    acc = tl.zeros((BLOCK_O, BLOCK_E), dtype=tl.float32)
    for start in range(tl.program_id(2) * BLOCK_P, pixels, BLOCK_P * SPLIT):
        pixel = start + tl.arange(0, BLOCK_P)
        there = pixel < pixels
        image, row, column = pixel // (OUT_H * OUT_W), pixel // OUT_W % OUT_H, pixel % OUT_W
        dy_at = ((image * O)[None, :] + o[:, None]) * OUT_H * OUT_W
        dy_at += (row * OUT_W + column)[None, :]
        dy = tl.load(dy_ptr + dy_at, mask=(o < O)[:, None] & there[None, :], other=0.0)
        h = (row * STRIDE - PAD)[:, None] + r[None, :]
        w = (column * STRIDE - PAD)[:, None] + s[None, :]
        inside = there[:, None] & (c < C)[None, :]
        inside &= (h >= 0) & (h < HEIGHT) & (w >= 0) & (w < WIDTH)
        x_at = (((image * C)[:, None] + c[None, :]) * HEIGHT + h) * WIDTH + w
        x = tl.load(x_ptr + x_at, mask=inside, other=0.0)
        acc = tl.dot(dy, x, acc)
    mask = (o < O)[:, None] & (c < C)[None, :]
    tl.atomic_add(dw_ptr + o[:, None] * C * R * S + e[None, :], acc, mask=mask, sem="relaxed")


@triton.jit
def depthwise_kernel(
    x_ptr, w_ptr, y_ptr, C, HEIGHT, WIDTH, R: tl.constexpr, S: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    """One plane a program on axis 2, padded so that the output has the input's size."""
    plane = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    column = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    base = x_ptr + plane * HEIGHT * WIDTH
    acc = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for r in tl.static_range(R):
        for s in tl.static_range(S):
            h, w = row + r - R // 2, column + s - S // 2
            inside = (h >= 0) & (h < HEIGHT) & (w >= 0) & (w < WIDTH)
            x = tl.load(base + h * WIDTH + w, mask=inside, other=0.0)
            acc += x.to(tl.float32) * tl.load(w_ptr + (plane % C * R + r) * S + s).to(tl.float32)
    mask = (row < HEIGHT) & (column < WIDTH)
    y_ptrs = y_ptr + plane * HEIGHT * WIDTH + row * WIDTH + column
    tl.store(y_ptrs, acc.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def max_pool_kernel(
    x_ptr, y_ptr, index_ptr, count, HEIGHT, WIDTH, OUT_H, OUT_W, WINDOW: tl.constexpr,
    STRIDE: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column, row, plane = at % OUT_W, at // OUT_W % OUT_H, at // (OUT_W * OUT_H)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    which = tl.full([BLOCK], -1, tl.int64)
    for i in tl.static_range(WINDOW * WINDOW):
        h = row * STRIDE - PAD + i // WINDOW
        w = column * STRIDE - PAD + i % WINDOW
        inside = (at < count) & (h >= 0) & (h < HEIGHT) & (w >= 0) & (w < WIDTH)
        x = tl.load(x_ptr + (plane * HEIGHT + h) * WIDTH + w, mask=inside, other=float("-inf"))
        better = (x > best) | (x != x)
        best = tl.where(better, x, best)
        which = tl.where(better, (h * WIDTH + w).to(tl.int64), which)
    tl.store(y_ptr + at, best, mask=at < count)
    tl.store(index_ptr + at, which, mask=at < count)


def patches(x, R, S, stride, pad, dilation=1):
    """(n, c, out_h, out_w, R, S) in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    reach = ((R - 1) * dilation + 1, (S - 1) * dilation + 1)
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    return view[:, :, ::stride, ::stride, ::dilation, ::dilation]


def reference(x, w, stride, pad, dilation, groups):
    n, c = x.shape[:2]
    view = patches(x, *w.shape[2:], stride, pad, dilation)
    view = view.reshape(n, groups, c // groups, *view.shape[2:])
    w = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    y = np.einsum("ngchwrs,gocrs->ngohw", view, w, optimize=True)
    return y.reshape(n, -1, *y.shape[3:])


CASES = [  # batch, channels, height, width, out channels, window, stride, pad, dilation, groups
    (2, 20, 9, 11, 24, 3, 1, 1, 1, 1),
    (1, 16, 14, 13, 40, 5, 2, 2, 1, 1),
    (3, 32, 10, 8, 16, 3, 1, 2, 2, 2),
    (2, 48, 7, 7, 64, 1, 1, 0, 1, 1),
]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_strides_paddings_and_groups(device, case, dtype, last):
    """Convolutions of any stride, padding, dilation and groups agree with float64."""
    n, c, height, width, out_c, window, stride, pad, dilation, groups = case
    x, w = (
        random((n, c, height, width), dtype, 1),
        random((out_c, c // groups, window, window), dtype, 2),
    )
    bias = random(out_c, "fp32", 3)
    out_h, out_w = (
        (e + 2 * pad - dilation * (window - 1) - 1) // stride + 1 for e in (height, width)
    )
    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    sizes = (n, out_c, out_h, out_w)
    y = device.output([sizes[i] for i in order], dtype)
    dx = device.to(np.ascontiguousarray(x.transpose(order)))
    strides = [None] * 4
    y_strides = [None] * 4
    for i, axis in enumerate(order):
        strides[axis], y_strides[axis] = device.strides(dx)[i], device.strides(y.array)[i]
    dw = device.to(w)
    conv2d_kernel[(triton.cdiv(n * out_h * out_w, 32), triton.cdiv(out_c // groups, 32), groups)](
        dx, dw, device.to(bias), y.array, n, height, width, out_h, out_w, c, out_c, *strides,
        *device.strides(dw), *y_strides, R=window, S=window, STRIDE=stride, PAD=pad,
        DILATION=dilation, GROUPS=groups, HAS_BIAS=True, BLOCK_P=32, BLOCK_C=16, BLOCK_O=32,
    )  # fmt: skip
    result = y.numpy()
    result = (result.transpose(0, 3, 1, 2) if last else result).astype(np.float64)
    expected = reference(x, w, stride, pad, dilation, groups) + bias[:, None, None]
    size = reference(np.abs(x), np.abs(w), stride, pad, dilation, groups)
    relative = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 0}[dtype]
    sums = 1e-3 if dtype == "fp32" else 1e-5
    assert (np.abs(result - expected) <= relative * np.abs(expected) + sums * size + 1e-6).all()


@pytest.mark.parametrize("split", [1, 3])
@pytest.mark.parametrize("stride, pad", [(1, 1), (2, 0)])
def test_weight_gradient(device, stride, pad, split):
    n, c, height, width, out_c, window = 2, 6, 9, 10, 18, 3
    x = random((n, c, height, width), "fp16", 4)
    view = patches(x, window, window, stride, pad)
    out_h, out_w = view.shape[2:4]
    dy = random((n, out_c, out_h, out_w), "fp16", 5)
    dw = device.to(np.zeros((out_c, c, window, window), np.float32))
    weight_gradient_kernel[(triton.cdiv(out_c, 16), triton.cdiv(c * window**2, 32), split)](
        device.to(x), device.to(dy), dw, n, c, height, width, out_c, out_h, out_w, window, window,
        STRIDE=stride, PAD=pad, BLOCK_O=16, BLOCK_E=32, BLOCK_P=32, SPLIT=split,
    )  # fmt: skip
    expected = np.einsum("nohw,nchwrs->ocrs", dy.astype(np.float64), view, optimize=True)
    np.testing.assert_allclose(device.numpy(dw), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("window", [(3, 3), (5, 7)])
def test_depthwise(device, window, dtype):
    """A depthwise convolution is right at the borders of the image, too."""
    n, c, height, width = 2, 3, 19, 37
    x, w = random((n, c, height, width), dtype, 6), random((c, *window), dtype, 7)
    y = device.output(x.shape, dtype)
    depthwise_kernel[(triton.cdiv(height, 8), triton.cdiv(width, 16), n * c)](
        device.to(x), device.to(w), y.array, c, height, width, *window, BLOCK_H=8, BLOCK_W=16
    )
    pads = [(0, 0), (0, 0), *((k // 2, k // 2) for k in window)]
    view = np.lib.stride_tricks.sliding_window_view(
        np.pad(x.astype(np.float64), pads), window, (2, 3)
    )
    expected = np.einsum("nchwrs,crs->nchw", view, w.astype(np.float64))
    relative = 1e-3 if dtype == "fp16" else 1e-5
    np.testing.assert_allclose(y.numpy(), expected, rtol=relative, atol=1e-5)


@pytest.mark.parametrize("window, stride, pad", [(2, 2, 0), (3, 2, 1)])
def test_max_pool(device, window, stride, pad):
    """Pooling with its places, by windows and strides of any size and padding."""
    x = random((2, 3, 13, 10), "fp32", 8)
    out_h, out_w = ((size + 2 * pad - window) // stride + 1 for size in x.shape[2:])
    shape = (2, 3, out_h, out_w)
    y, index = device.output(shape, "fp32"), device.output(shape, "i64")
    max_pool_kernel[(triton.cdiv(y.size, 64),)](
        device.to(x), y.array, index.array, y.size, 13, 10, out_h, out_w, WINDOW=window,
        STRIDE=stride, PAD=pad, BLOCK=64,
    )  # fmt: skip
    low = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=-np.inf)
    view = np.lib.stride_tricks.sliding_window_view(low, (window, window), (2, 3))
    expected = view[:, :, ::stride, ::stride].max(axis=(4, 5))
    np.testing.assert_array_equal(y.numpy(), expected)
    picked = np.take_along_axis(x.reshape(2, 3, -1), index.numpy().reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(picked.reshape(shape), expected)
