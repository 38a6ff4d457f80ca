"""Group norm over (batch, channels, space), forward and backward; Welford's update or two sums.

Groups are one tile or a loop over blocks; backward adds the gradients of weight and bias by
atomics. fp32 within 1e-4, fp16 within 4e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    """Joins two sets of statistics."""
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def group_norm_tile_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, group_size, C, HW, num_groups, eps,
    BLOCK_C: tl.constexpr, BLOCK_HW: tl.constexpr, HAS_AFFINE: tl.constexpr,
):  # fmt: skip
    """A group as one tile of channels by space."""
    pid = tl.program_id(0)
    group = pid % num_groups
    c = tl.arange(0, BLOCK_C)
    s = tl.arange(0, BLOCK_HW)
    at = (pid // num_groups) * C * HW + (group * group_size + c[:, None]) * HW + s[None, :]
    mask = (c[:, None] < group_size) & (s[None, :] < HW)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    count = group_size * HW
    mean = tl.sum(x) / count
    centred = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred) / count + eps)
    y = centred * rstd
    if HAS_AFFINE:
        w = tl.load(w_ptr + group * group_size + c, mask=c < group_size, other=0.0)
        b = tl.load(b_ptr + group * group_size + c, mask=c < group_size, other=0.0)
        y = y * w[:, None] + b[:, None]
    tl.store(y_ptr + at, y, mask=mask)
    tl.store(mean_ptr + pid, mean)
    tl.store(rstd_ptr + pid, rstd)


@triton.jit
def group_norm_welford_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, group_size, HW, num_groups, eps,
    BLOCK: tl.constexpr, SILU: tl.constexpr,
):  # fmt: skip
    """A group is `count` neighbours in memory, in blocks; each lane keeps statistics of its own."""
    pid = tl.program_id(0).to(tl.int64)
    count = group_size * HW
    x_ptr += pid * count
    y_ptr += pid * count
    lanes = tl.arange(0, BLOCK)
    mean = tl.zeros([BLOCK], tl.float32)
    m2 = tl.zeros([BLOCK], tl.float32)
    weight = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, count, BLOCK):
        mask = start + lanes < count
        x = tl.load(x_ptr + start + lanes, mask=mask, other=0.0).to(tl.float32)
        new_weight = weight + 1.0
        delta = x - mean
        new_mean = mean + delta / new_weight
        m2 = tl.where(mask, m2 + delta * (x - new_mean), m2)
        mean = tl.where(mask, new_mean, mean)
        weight = tl.where(mask, new_weight, weight)
    total_mean, total_m2, _ = tl.reduce((mean, m2, weight), 0, welford)
    rstd = 1.0 / tl.sqrt(total_m2 / count + eps)
    first = (pid % num_groups) * group_size
    for start in tl.range(0, count, BLOCK):
        mask = start + lanes < count
        channel = first + (start + lanes) // HW
        w = tl.load(w_ptr + channel, mask=mask)
        b = tl.load(b_ptr + channel, mask=mask)
        x = tl.load(x_ptr + start + lanes, mask=mask, other=0.0).to(tl.float32)
        y = (x - total_mean) * rstd * w + b
        if SILU:
            y = y * tl.sigmoid(y)
        tl.store(y_ptr + start + lanes, y, mask=mask)
    tl.store(mean_ptr + pid, total_mean)
    tl.store(rstd_ptr + pid, rstd)


@triton.jit
def group_norm_backward_kernel(
    dx_ptr, dw_ptr, db_ptr, dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, group_size, HW, num_groups,
    BLOCK_HW: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    group = pid % num_groups
    base = pid * group_size * HW
    mean, rstd = tl.load(mean_ptr + pid), tl.load(rstd_ptr + pid)
    s = tl.arange(0, BLOCK_HW)
    c1 = 0.0
    c2 = 0.0
    for channel in range(group_size):
        w = tl.load(w_ptr + group * group_size + channel).to(tl.float32)
        dw = 0.0
        db = 0.0
        for start in range(0, HW, BLOCK_HW):
            mask = start + s < HW
            at = base + channel * HW + start + s
            xhat = (tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) - mean) * rstd
            dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
            dw += tl.sum(dy * xhat)
            db += tl.sum(dy)
        c1 += w * dw
        c2 += w * db
        tl.atomic_add(dw_ptr + group * group_size + channel, dw)
        tl.atomic_add(db_ptr + group * group_size + channel, db, sem="relaxed")
    count = group_size * HW
    for channel in range(group_size):
        w = tl.load(w_ptr + group * group_size + channel).to(tl.float32)
        for start in range(0, HW, BLOCK_HW):
            mask = start + s < HW
            at = base + channel * HW + start + s
            xhat = (tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) - mean) * rstd
            dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
            tl.store(dx_ptr + at, (dy * w - (xhat * c1 + c2) / count) * rstd, mask=mask)


def statistics(x, groups, eps):
    flat = x.astype(np.float64).reshape(len(x) * groups, -1)
    return flat.mean(axis=1), 1 / np.sqrt(flat.var(axis=1) + eps)


def normal(x, groups, eps):
    mean, rstd = statistics(x, groups, eps)
    flat = x.astype(np.float64).reshape(len(x) * groups, -1)
    return ((flat - mean[:, None]) * rstd[:, None]).reshape(x.shape)


def close(result, expected, dtype):
    allowed = 1e-4 if dtype == "fp32" else 4e-3
    np.testing.assert_allclose(result.astype(np.float64), expected, atol=allowed, rtol=allowed)


@pytest.mark.parametrize("kind", ["tile", "plain tile", "welford", "welford and silu"])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
@pytest.mark.parametrize("batch, channels, space, groups", [(2, 12, 50, 4), (3, 10, 7, 2)])
def test_results_and_statistics(device, dtype, kind, batch, channels, space, groups):
    """Results, means and deviations are those of float64 by both algorithms."""
    x = random((batch, channels, space), dtype, 1) + np.float32(3).astype(
        dtype.replace("fp", "float")
    )
    w, b = random(channels, "fp32", 2), random(channels, "fp32", 3)
    y, n = device.output(x.shape, dtype), batch * groups
    mean, rstd = device.output(n, "fp32"), device.output(n, "fp32")
    size = channels // groups
    arrays = (device.to(x), y.array, device.to(w), device.to(b), mean.array, rstd.array)
    if "tile" in kind:
        group_norm_tile_kernel[(n,)](
            *arrays, size, channels, space, groups, 1e-5, HAS_AFFINE=kind == "tile",
            BLOCK_C=triton.next_power_of_2(size), BLOCK_HW=triton.next_power_of_2(space),
        )  # fmt: skip
    else:
        group_norm_welford_kernel[(n,)](
            *arrays, size, space, groups, 1e-5, BLOCK=64, SILU="silu" in kind
        )
    expected = normal(x, groups, 1e-5)
    if kind != "plain tile":
        expected = expected * w[:, None] + b[:, None]
    if "silu" in kind:
        expected = expected / (1 + np.exp(-expected))
    close(y.numpy(), expected, dtype)
    expected_mean, expected_rstd = statistics(x, groups, 1e-5)
    np.testing.assert_allclose(mean.numpy(), expected_mean, rtol=1e-4)
    np.testing.assert_allclose(rstd.numpy(), expected_rstd, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_backward(device, dtype):
    """Gradients of the input, the weight and the bias are those of float64."""
    batch, channels, space, groups = (8, 64, 1000, 8) if device.on_gpu else (3, 12, 70, 4)
    x, dy = random((batch, channels, space), dtype, 4), random((batch, channels, space), dtype, 5)
    w = random(channels, "fp32", 6)
    mean, rstd = (s.astype(np.float32) for s in statistics(x, groups, 1e-5))
    dx = device.output(x.shape, dtype)
    dw, db = (device.to(np.zeros(channels, np.float32)) for _ in range(2))
    group_norm_backward_kernel[(batch * groups,)](
        dx.array, dw, db, *map(device.to, (dy, x, w, mean, rstd)), channels // groups, space,
        groups, BLOCK_HW=64, num_warps=2,
    )  # fmt: skip
    xhat, dy = normal(x, groups, 1e-5), dy.astype(np.float64)
    wdy = (dy * w[:, None]).reshape(batch * groups, -1)
    flat = xhat.reshape(wdy.shape)
    expected = wdy - flat * (wdy * flat).mean(1, keepdims=True) - wdy.mean(1, keepdims=True)
    close(dx.numpy(), (expected * rstd[:, None]).reshape(x.shape), dtype)
    np.testing.assert_allclose(device.numpy(dw), (dy * xhat).sum(axis=(0, 2)), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(device.numpy(db), dy.sum(axis=(0, 2)), rtol=1e-3, atol=1e-2)
