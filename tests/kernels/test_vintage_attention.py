"""Attention as kernels of Triton 1 and 2.0 wrote it: always normalised, a scratch round trip.

The scratch store and load of the same addresses was a work-around that kernels in the field still
carry; alibi slopes and soft-capped scores are added as serving libraries do. Names and loops of the
time. fp16 within 4e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def _fwd_kernel(
    Q, K, V, Alibi, sm_scale, softcap, TMP, L, M, Out,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vk, stride_vn,
    stride_oz, stride_oh, stride_om, stride_on,
    Z, H, N_CTX, TMP_ROWS,
    BLOCK_M: tl.constexpr, BLOCK_DMODEL: tl.constexpr, BLOCK_N: tl.constexpr,
    HAS_ALIBI: tl.constexpr, HAS_SOFTCAP: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z, off_h = off_hz // H, off_hz % H
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    base_q = off_z * stride_qz + off_h * stride_qh
    base_k = off_z * stride_kz + off_h * stride_kh
    base_v = off_z * stride_vz + off_h * stride_vh
    off_q = base_q + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk
    off_k = base_k + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kk
    off_v = base_v + offs_n[:, None] * stride_vk + offs_d[None, :] * stride_vn
    q_ptrs = Q + off_q
    k_ptrs = K + off_k
    v_ptrs = V + off_v
    t_ptrs = TMP + off_hz * TMP_ROWS + offs_m
    m_prev = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_prev = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], dtype=tl.float32)
    q = tl.load(q_ptrs, mask=offs_m[:, None] < N_CTX, other=0.0)
    if HAS_ALIBI:
        slope = tl.load(Alibi + off_h)
    for start_n in range(0, (start_m + 1) * BLOCK_M, BLOCK_N):
        k = tl.load(k_ptrs, mask=start_n + offs_n[:, None] < N_CTX, other=0.0)
        qk = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        qk += tl.dot(q, tl.trans(k), allow_tf32=False)
        qk *= sm_scale
        if HAS_SOFTCAP:
            qk = softcap * (2 * tl.sigmoid(2 * qk / softcap) - 1)
        if HAS_ALIBI:
            qk += slope * (start_n + offs_n[None, :] - offs_m[:, None])
        qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, float("-inf"))
        m_curr = tl.maximum(tl.max(qk, 1), m_prev)
        l_prev *= tl.exp(m_prev - m_curr)
        p = tl.exp(qk - m_curr[:, None])
        l_curr = tl.sum(p, 1) + l_prev
        l_rcp = 1.0 / l_curr
        p *= l_rcp[:, None]
        acc_scale = l_prev * l_rcp
        tl.store(t_ptrs, acc_scale)
        acc_scale = tl.load(t_ptrs)
        acc = acc * acc_scale[:, None]
        p = p.to(tl.float16)
        v = tl.load(v_ptrs, mask=start_n + offs_n[:, None] < N_CTX, other=0.0)
        acc += tl.dot(p, v)
        l_prev = l_curr
        m_prev = m_curr
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vk
    start_m = tl.program_id(0)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    l_ptrs = L + off_hz * N_CTX + offs_m
    m_ptrs = M + off_hz * N_CTX + offs_m
    tl.store(l_ptrs, l_prev, mask=offs_m < N_CTX)
    tl.store(m_ptrs, m_prev, mask=offs_m < N_CTX)
    offs_n = tl.arange(0, BLOCK_DMODEL)
    off_o = off_z * stride_oz + off_h * stride_oh
    off_o += offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    tl.store(Out + off_o, acc, mask=offs_m[:, None] < N_CTX)


def reference(q, k, v, slopes, softcap):
    """O, and the sum and maximum of each row, in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    length = q.shape[2]
    s = q @ k.swapaxes(2, 3) * q.shape[3] ** -0.5
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if slopes is not None:
        t = np.arange(length)
        s = s + slopes.astype(np.float64)[:, None, None] * (t[None, :] - t[:, None])
    s = np.where(np.tri(length, dtype=bool), s, -np.inf)
    best = s.max(axis=3, keepdims=True)
    p = np.exp(s - best)
    total = p.sum(axis=3, keepdims=True)
    return p / total @ v, total[..., 0], best[..., 0]


@pytest.mark.parametrize("alibi, softcap", [(False, 0.0), (True, 0.0), (False, 2.0), (True, 5.0)])
@pytest.mark.parametrize("head_dim, warps", [(64, 4), (32, 2)])
def test_causal(device, head_dim, warps, alibi, softcap):
    """Causal attention with a scratch round trip agrees with float64."""
    z, h, length, block = (2, 3, 700, 64) if device.on_gpu else (1, 2, 90, 32)
    q, k, v = (random((z, h, length, head_dim), "fp16", seed) for seed in (1, 2, 3))
    slopes = 2.0 ** -np.arange(1, h + 1).astype(np.float32) if alibi else None
    rows = triton.cdiv(length, block) * block
    tmp, out = device.output((z, h, rows), "fp32"), device.output(q.shape, "fp16")
    total, best = device.output((z, h, length), "fp32"), device.output((z, h, length), "fp32")
    d_q, d_k, d_v = map(device.to, (q, k, v))
    strides = [s for x in (d_q, d_k, d_v, out.array) for s in device.strides(x)]
    _fwd_kernel[(triton.cdiv(length, block), z * h)](
        d_q, d_k, d_v, device.to(slopes) if alibi else None, head_dim**-0.5, softcap, tmp.array,
        total.array, best.array, out.array, *strides, z, h, length, rows,
        BLOCK_M=block, BLOCK_DMODEL=head_dim, BLOCK_N=block, HAS_ALIBI=alibi,
        HAS_SOFTCAP=softcap > 0, num_warps=warps, num_stages=1,
    )  # fmt: skip
    tmp.numpy()
    expected = reference(q, k, v, slopes, softcap)
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected[0], atol=4e-3, rtol=4e-3)
    np.testing.assert_allclose(total.numpy(), expected[1], atol=1e-3, rtol=1e-3)
    np.testing.assert_allclose(best.numpy(), expected[2], atol=1e-3, rtol=1e-3)
