"""Attention over tensor descriptors made on the host or in the kernel, as since Triton 3.4.

Batch and heads are rows of one matrix; the loop requests warp specialisation; autotune prunes by
the length; the host's descriptors get their block shape from a hook. Lengths are multiples of the
blocks. fp16 and bf16 within 2e-3 and 2e-2.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from pantile.tools.tensor_descriptor import TensorDescriptor


def _set_blocks(args):
    """Gives the host's descriptors the blocks of the configuration."""
    if isinstance(args["desc_q"], TensorDescriptor):
        args["desc_q"].block_shape = [args["BLOCK_M"], args["HEAD_DIM"]]
        args["desc_k"].block_shape = [args["BLOCK_N"], args["HEAD_DIM"]]
        args["desc_v"].block_shape = [args["BLOCK_N"], args["HEAD_DIM"]]
        args["desc_o"].block_shape = [args["BLOCK_M"], args["HEAD_DIM"]]


def _keep(configs, named_args, **kwargs):
    return [c for c in configs if kwargs["N_CTX"] % c.kwargs["BLOCK_M"] == 0]


@triton.jit
def _maybe_make_tensor_desc(desc_or_ptr, shape, strides, block_shape):
    if isinstance(desc_or_ptr, tl.tensor_descriptor):
        return desc_or_ptr
    else:
        return tl.make_tensor_descriptor(desc_or_ptr, shape, strides, block_shape)


@triton.jit
def _attend(
    acc, l_i, m_i, q, desc_k, desc_v, offset_y, start_m, qk_scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
    offs_m: tl.constexpr, offs_n: tl.constexpr, N_CTX: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    if STAGE == 1:
        lo, hi = 0, start_m * BLOCK_M
    elif STAGE == 2:
        lo, hi = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
        lo = tl.multiple_of(lo, BLOCK_M)
    else:
        lo, hi = 0, N_CTX
    offset_kv = offset_y + lo
    for start_n in tl.range(lo, hi, BLOCK_N, warp_specialize=SPECIALIZE):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = desc_k.load([offset_kv, 0]).T
        qk = tl.dot(q, k)
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = desc_v.load([offset_kv, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        l_i = l_i * alpha + l_ij
        m_i = m_ij
        offset_kv += BLOCK_N
    return acc, l_i, m_i


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_stages=2, num_warps=w, pre_hook=_set_blocks)
        for m, n, w in ((128, 64, 8), (64, 32, 4))
    ],
    key=["N_CTX", "HEAD_DIM"],
    prune_configs_by={"early_config_prune": _keep},
)
@triton.jit
def attention_kernel(
    sm_scale, M, Z, H, desc_q, desc_k, desc_v, desc_o, N_CTX: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):  # fmt: skip
    tl.static_assert(BLOCK_N <= HEAD_DIM)
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    y_dim = Z * H * N_CTX
    desc_q = _maybe_make_tensor_desc(desc_q, [y_dim, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_M, HEAD_DIM])
    desc_v = _maybe_make_tensor_desc(desc_v, [y_dim, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_N, HEAD_DIM])
    desc_k = _maybe_make_tensor_desc(desc_k, [y_dim, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_N, HEAD_DIM])
    desc_o = _maybe_make_tensor_desc(desc_o, [y_dim, HEAD_DIM], [HEAD_DIM, 1], [BLOCK_M, HEAD_DIM])
    dtype: tl.constexpr = desc_o.dtype
    offset_y = off_z * (N_CTX * H) + off_h * N_CTX
    qo_offset_y = offset_y + start_m * BLOCK_M
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = desc_q.load([qo_offset_y, 0])
    if STAGE & 1:
        acc, l_i, m_i = _attend(
            acc, l_i, m_i, q, desc_k, desc_v, offset_y, start_m, qk_scale,
            BLOCK_M, BLOCK_N, 4 - STAGE, offs_m, offs_n, N_CTX, SPECIALIZE,
        )  # fmt: skip
    if STAGE & 2:
        acc, l_i, m_i = _attend(
            acc, l_i, m_i, q, desc_k, desc_v, offset_y, start_m, qk_scale,
            BLOCK_M, BLOCK_N, 2, offs_m, offs_n, N_CTX, SPECIALIZE,
        )  # fmt: skip
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(M + off_hz * N_CTX + offs_m, m_i)
    desc_o.store([qo_offset_y, 0], acc.to(dtype))


def attention(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.swapaxes(2, 3) * q.shape[3] ** -0.5
    if causal:
        s = np.where(np.tri(q.shape[2], dtype=bool), s, -np.inf)
    best = s.max(axis=3, keepdims=True)
    p = np.exp(s - best)
    total = p.sum(axis=3, keepdims=True)
    return p / total @ v, ((best + np.log(total)) / np.log(2))[..., 0]


def scratch(device):
    def allocate(size, alignment, stream):
        if device.on_gpu:
            return device.torch.empty(size, device="cuda", dtype=device.torch.int8)
        return np.empty(size + alignment, np.int8)

    return allocate


@pytest.mark.parametrize("made_on", ["host", "device"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype, head_dim", [("fp16", 64), ("bf16", 128)])
def test_descriptors_of_host_and_kernel(device, dtype, head_dim, causal, made_on):
    """Attention is right over descriptors that the host or the kernel makes."""
    z, h, n = (2, 3, 1024) if device.on_gpu else (1, 2, 128)
    q, k, v = (random((z, h, n, head_dim), dtype, seed) for seed in (1, 2, 3))
    out, m = device.output(q.shape, dtype), device.output((z, h, n), "fp32")
    arrays = [*map(device.to, (q, k, v)), out.array]
    if made_on == "host":
        rows = z * h * n
        arrays = [TensorDescriptor(a, [rows, head_dim], [head_dim, 1], [1, 1]) for a in arrays]
    else:
        triton.set_allocator(scratch(device))

    def grid(meta):
        return (triton.cdiv(n, meta["BLOCK_M"]), z * h, 1)

    attention_kernel[grid](
        head_dim**-0.5, m.array, z, h, *arrays, N_CTX=n, HEAD_DIM=head_dim,
        STAGE=3 if causal else 1, SPECIALIZE=not causal,
    )  # fmt: skip
    expected, expected_m = attention(q, k, v, causal)
    allowed = 2e-3 if dtype == "fp16" else 2e-2
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=allowed, rtol=allowed)
    np.testing.assert_allclose(m.numpy(), expected_m, atol=2e-3, rtol=2e-3)
