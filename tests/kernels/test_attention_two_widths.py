"""Attention whose keys and queries are wider than its values, or whose values lie transposed.

Rows of queries and keys hold WIDTH elements and EXTRA more, which carry positions, as in DeepSeek's
latent attention. Two dots add up to the scores. Values have two strides, since wgmma of fp8 takes
them with keys contiguous.

With s the scores, p = exp(s - max s), l = sum p and o = p v / l, an element may be off
- for p in the type of v: a value of p by r = max(u p, t), where u is half a step of a normal number
  (2^-11 of fp16, 2^-8 of bf16, 2^-4 of fp8e4nv) and t half of the smallest number. So an element by
  r |v| / l, and, since the errors are independent and signs of v random, by 4 sqrt(r^2 v^2) / l,
  which is 7 standard deviations of errors that are spread evenly;
- by 2 (e |q| |k| + 2^-16) p |v| / l for scores and exp2: e is 2^-16 for sums in fp32, and 2^-12
  where Hopper's tensor cores keep 13 bits of products of fp8;
- by e p |v| / l for the second dot;
- by half a step of its own.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _attend_range(
    acc, l_i, m_i, q, q_extra, k_ptrs, k_extra_ptrs, v_ptrs, stride_kn, stride_vn, offs_m, offs_n,
    lo, hi, scale, EXTRA: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Keys from `lo` to `hi`; with MASKED, those that come after their query do not count."""
    k_ptrs += lo * stride_kn
    k_extra_ptrs += lo * stride_kn
    v_ptrs += lo * stride_vn
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = tl.load(k_ptrs)
        s = tl.dot(q, k)
        if EXTRA > 0:
            k_extra = tl.load(k_extra_ptrs)
            s = tl.dot(q_extra, k_extra, s)
        s = s * scale
        if MASKED:
            s = tl.where(offs_m[:, None] >= start_n + offs_n[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
        k_ptrs += BLOCK_N * stride_kn
        k_extra_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    return acc, l_i, m_i


@triton.jit
def two_width_kernel(
    Q, K, V, O,
    scale,
    stride_qz, stride_qh, stride_qm,
    stride_kz, stride_kh, stride_kn,
    stride_vz, stride_vh, stride_vn, stride_vd,
    stride_oz, stride_oh, stride_om,
    H, N,
    GROUP: tl.constexpr,
    WIDTH: tl.constexpr,
    EXTRA: tl.constexpr,
    VALUE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """`GROUP` heads share keys and values. N is a multiple of BLOCK_M and of BLOCK_N."""
    start_m = tl.program_id(0) * BLOCK_M
    off_z = tl.program_id(1) // H
    off_h = tl.program_id(1) % H
    off_kh = off_h // GROUP

    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_w = tl.arange(0, WIDTH)
    offs_v = tl.arange(0, VALUE)
    Q += off_z.to(tl.int64) * stride_qz + off_h.to(tl.int64) * stride_qh
    K += off_z.to(tl.int64) * stride_kz + off_kh.to(tl.int64) * stride_kh
    V += off_z.to(tl.int64) * stride_vz + off_kh.to(tl.int64) * stride_vh
    O += off_z.to(tl.int64) * stride_oz + off_h.to(tl.int64) * stride_oh
    k_ptrs = K + offs_n[None, :] * stride_kn + offs_w[:, None]
    v_ptrs = V + offs_n[:, None] * stride_vn + offs_v[None, :] * stride_vd

    q = tl.load(Q + offs_m[:, None] * stride_qm + offs_w[None, :])
    q_extra = q
    k_extra_ptrs = k_ptrs
    if EXTRA > 0:
        offs_e = WIDTH + tl.arange(0, EXTRA)
        q_extra = tl.load(Q + offs_m[:, None] * stride_qm + offs_e[None, :])
        k_extra_ptrs = K + offs_n[None, :] * stride_kn + offs_e[:, None]

    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, VALUE], dtype=tl.float32)
    full = N
    if CAUSAL:
        full = start_m // BLOCK_N * BLOCK_N
    acc, l_i, m_i = _attend_range(
        acc, l_i, m_i, q, q_extra, k_ptrs, k_extra_ptrs, v_ptrs, stride_kn, stride_vn, offs_m,
        offs_n, 0, full, scale * LOG2E, EXTRA, BLOCK_N, False,
    )  # fmt: skip
    if CAUSAL:
        acc, l_i, m_i = _attend_range(
            acc, l_i, m_i, q, q_extra, k_ptrs, k_extra_ptrs, v_ptrs, stride_kn, stride_vn, offs_m,
            offs_n, full, start_m + BLOCK_M, scale * LOG2E, EXTRA, BLOCK_N, True,
        )  # fmt: skip
    acc = acc / l_i[:, None]
    tl.store(
        O + offs_m[:, None] * stride_om + offs_v[None, :],
        acc.to(O.dtype.element_ty),
    )


def reference(q, k, v, scale, causal):
    """p, v and |q| |k| at most, in float64, with a head of v for each of q."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    s = q @ k.swapaxes(2, 3) * scale
    if causal:
        s = np.where(np.tri(s.shape[2], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(axis=3, keepdims=True))
    return p, v, (np.abs(q) @ np.abs(k).swapaxes(2, 3)).max(axis=3, keepdims=True) * scale


def half_a_step(x, kind):
    """How far numbers may be off once they are rounded to a type."""
    kind = ml_dtypes.finfo(kind)
    return np.maximum(float(kind.eps) / 2 * x, float(kind.smallest_subnormal) / 2)


def check(result, q, k, v, scale, causal, imprecise):
    """Compare with float64; the docstring of the file has the bounds."""
    p, wide, size = reference(q, k, v, scale, causal)
    total, plain = p.sum(axis=3, keepdims=True), np.abs(wide)
    expected = p @ wide / total
    rounded = np.where(p > 0, half_a_step(p, v.dtype), 0)
    allowed = np.minimum(rounded @ plain, 4 * np.sqrt(rounded**2 @ wide**2)) / total
    sums = 2.0**-12 if imprecise else 2.0**-16
    allowed += (2 * (sums * size + 2.0**-16) + sums) * (p @ plain) / total
    allowed += half_a_step(np.abs(expected), result.dtype)
    error = np.abs(result.astype(np.float64) - expected)
    assert (error <= allowed).all(), f"{np.nan_to_num(error / allowed, nan=np.inf).max()} allowed"


def launch(device, arrays, shape, blocks, out, **options):
    """Attention of q, k and v (Z, heads, N, width) as they are stored on the device."""
    q, k, v = arrays
    width, extra, value, causal = shape
    z, h, n, _ = q.shape
    strides = [*device.strides(q)[:3], *device.strides(k)[:3], *device.strides(v)]
    two_width_kernel[(n // blocks[0], z * h)](
        q, k, v, out, (width + extra) ** -0.5, *strides, *device.strides(out)[:3], h, n,
        GROUP=h // k.shape[1], WIDTH=width, EXTRA=extra, VALUE=value, BLOCK_M=blocks[0],
        BLOCK_N=blocks[1], CAUSAL=causal, **options,
    )  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "dtype, out_dtype, widths, blocks, warps",
    [
        ("fp16", "fp16", (32, 16, 32), (32, 32), 4),
        ("bf16", "fp32", (64, 32, 64), (128, 64), 4),
        ("bf16", "bf16", (64, 0, 32), (32, 64), 2),
    ],
)
def test_wide_keys(device, dtype, out_dtype, widths, blocks, warps, causal):
    z, h, n = (2, 4, 1024) if device.on_gpu else (1, 4, 256)
    width, extra, value = widths
    q = random((z, h, n, width + extra), dtype, 1)
    k = random((z, h // 2, n, width + extra), dtype, 2)
    v = random((z, h // 2, n, value), dtype, 3)
    out = device.output((z, h, n, value), out_dtype)
    arrays = [device.to(x) for x in (q, k, v)]
    launch(device, arrays, (*widths, causal), blocks, out.array, num_warps=warps, num_stages=2)
    check(out.numpy(), q, k, v, (width + extra) ** -0.5, causal, False)


def test_values_among_keys(device):
    """Keys and values are parts of one row, and heads of a token lie next to each other."""
    n, width, extra, value = (1024 if device.on_gpu else 128), 32, 16, 64
    q = random((2, n, 2, width + extra), "fp16", 4).swapaxes(1, 2)
    rows = random((2, n, 2, width + extra + value), "fp16", 5)
    k, v = (part.swapaxes(1, 2) for part in np.split(rows, [width + extra], axis=3))
    d_rows = device.to(rows).swapaxes(1, 2)
    d_k, d_v = d_rows[..., : width + extra], d_rows[..., width + extra :]
    out = device.output((2, n, 2, value), "fp16")
    d_q = device.to(np.ascontiguousarray(q.swapaxes(1, 2))).swapaxes(1, 2)
    launch(
        device, (d_q, d_k, d_v), (width, extra, value, True), (64, 32), out.array.swapaxes(1, 2),
        num_warps=4, num_stages=3,
    )  # fmt: skip
    check(out.numpy().swapaxes(1, 2), q, k, v, (width + extra) ** -0.5, True, False)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "blocks, transposed, warps, stages",
    [
        ((64, 64), True, 4, 2),
        ((128, 64), True, 4, 2),
        ((64, 128), False, 4, 2),
        ((64, 128), True, 4, 3),
        ((128, 128), True, 8, 2),
    ],
)
def test_fp8(device, blocks, transposed, warps, stages, causal):
    """Attention over fp8 agrees with float64 as far as fp8 reaches, with values in both orders."""
    z, h, n, width = (2, 4, 1024, 64) if device.on_gpu else (1, 2, 256, 64)
    q = random((z, h, n, width), "fp8e4nv", 6)
    k, v = (random((z, h // 2, n, width), "fp8e4nv", seed) for seed in (7, 8))
    d_v = device.to(v)
    if transposed:
        d_v = device.to(np.ascontiguousarray(v.swapaxes(2, 3))).swapaxes(2, 3)
    out = device.output(q.shape, "fp16")
    shape = (width, 0, width, causal)
    launch(
        device, (device.to(q), device.to(k), d_v), shape, blocks, out.array,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    check(out.numpy(), q, k, v, width**-0.5, causal, device.on_gpu)
