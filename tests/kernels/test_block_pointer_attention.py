"""Block pointers: attention and GEMM as they were written with `make_block_ptr` and `advance`.

Bounds are checked along one axis, along both or along none; orders are those of rows and of
columns; padding is zero or NaN. The GEMM has a batch, an EVEN_K flag, and its tile order
swizzled. fp16 within 2e-3 of the result plus 1e-3.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import check_gemm, random


@triton.jit
def _inner(
    acc, l_i, m_i, q, K_block_ptr, V_block_ptr, start_m, qk_scale, N_CTX,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
    offs_m: tl.constexpr, offs_n: tl.constexpr,
):  # fmt: skip
    """STAGE 1: left of the diagonal; 2: on the diagonal; 3: everything."""
    if STAGE == 1:
        lo, hi = 0, start_m * BLOCK_M
    elif STAGE == 2:
        lo, hi = start_m * BLOCK_M, tl.minimum((start_m + 1) * BLOCK_M, N_CTX)
        lo = tl.multiple_of(lo, BLOCK_M)
    else:
        lo, hi = 0, N_CTX
    K_block_ptr = tl.advance(K_block_ptr, (0, lo))
    V_block_ptr = tl.advance(V_block_ptr, (lo, 0))
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = tl.load(K_block_ptr, boundary_check=(1,), padding_option="zero")
        qk = tl.dot(q, k)
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            qk = tl.where((start_n + offs_n < N_CTX)[None, :], qk, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        l_ij = tl.sum(p, 1)
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        acc = acc * alpha[:, None]
        v = tl.load(V_block_ptr, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
        V_block_ptr = tl.advance(V_block_ptr, (BLOCK_N, 0))
        K_block_ptr = tl.advance(K_block_ptr, (0, BLOCK_N))
    return acc, l_i, m_i


@triton.jit
def attention_kernel(
    Q, K, V, M, Out, sm_scale,
    stride_qh, stride_qm, stride_kh, stride_kn, stride_vh, stride_vn, stride_oh, stride_om,
    N_CTX, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    STAGE: tl.constexpr,
):  # fmt: skip
    tl.static_assert(BLOCK_N <= HEAD_DIM)
    start_m = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    Q_block_ptr = tl.make_block_ptr(
        base=Q + head * stride_qh, shape=(N_CTX, HEAD_DIM), strides=(stride_qm, 1),
        offsets=(start_m * BLOCK_M, 0), block_shape=(BLOCK_M, HEAD_DIM), order=(1, 0),
    )  # fmt: skip
    V_block_ptr = tl.make_block_ptr(
        base=V + head * stride_vh, shape=(N_CTX, HEAD_DIM), strides=(stride_vn, 1),
        offsets=(0, 0), block_shape=(BLOCK_N, HEAD_DIM), order=(1, 0),
    )  # fmt: skip
    K_block_ptr = tl.make_block_ptr(
        base=K + head * stride_kh, shape=(HEAD_DIM, N_CTX), strides=(1, stride_kn),
        offsets=(0, 0), block_shape=(HEAD_DIM, BLOCK_N), order=(0, 1),
    )  # fmt: skip
    O_block_ptr = tl.make_block_ptr(
        base=Out + head * stride_oh, shape=(N_CTX, HEAD_DIM), strides=(stride_om, 1),
        offsets=(start_m * BLOCK_M, 0), block_shape=(BLOCK_M, HEAD_DIM), order=(1, 0),
    )  # fmt: skip
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale
    qk_scale *= 1.44269504
    q = tl.load(Q_block_ptr, boundary_check=(0,))
    if STAGE & 1:
        acc, l_i, m_i = _inner(
            acc, l_i, m_i, q, K_block_ptr, V_block_ptr, start_m, qk_scale, N_CTX,
            BLOCK_M, BLOCK_N, 4 - STAGE, offs_m, offs_n,
        )  # fmt: skip
    if STAGE & 2:
        acc, l_i, m_i = _inner(
            acc, l_i, m_i, q, K_block_ptr, V_block_ptr, start_m, qk_scale, N_CTX,
            BLOCK_M, BLOCK_N, 2, offs_m, offs_n,
        )  # fmt: skip
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(M + head * N_CTX + offs_m, m_i, mask=offs_m < N_CTX)
    tl.store(O_block_ptr, acc.to(Out.type.element_ty), boundary_check=(0,))


@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, stride_ab, stride_am, stride_ak, stride_bb, stride_bk, stride_bn,
    stride_cb, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    A_ORDER: tl.constexpr, B_ORDER: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(1).to(tl.int64)
    pid_m, pid_n = tl.swizzle2d(
        tl.program_id(0) // tl.cdiv(N, BLOCK_N), tl.program_id(0) % tl.cdiv(N, BLOCK_N),
        tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M,
    )  # fmt: skip
    a_ptr = tl.make_block_ptr(
        A + batch * stride_ab, (M, K), (stride_am, stride_ak), (pid_m * BLOCK_M, 0),
        (BLOCK_M, BLOCK_K), A_ORDER,
    )  # fmt: skip
    b_ptr = tl.make_block_ptr(
        B + batch * stride_bb, (K, N), (stride_bk, stride_bn), (0, pid_n * BLOCK_N),
        (BLOCK_K, BLOCK_N), B_ORDER,
    )  # fmt: skip
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BLOCK_K)):
        if EVEN_K:
            a = tl.load(a_ptr, boundary_check=(0,))
            b = tl.load(b_ptr, boundary_check=(1,))
        else:
            a = tl.load(a_ptr, boundary_check=(0, 1), padding_option="zero")
            b = tl.load(b_ptr, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, b)
        a_ptr = tl.advance(a_ptr, [0, BLOCK_K])
        b_ptr = b_ptr.advance([BLOCK_K, 0])
    c_ptr = tl.make_block_ptr(
        C + batch * stride_cb, (M, N), (stride_cm, stride_cn),
        (pid_m * BLOCK_M, pid_n * BLOCK_N), (BLOCK_M, BLOCK_N), (1, 0),
    )  # fmt: skip
    tl.store(c_ptr, acc.to(C.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def padded_copy_kernel(X, Y, M, N, ROWS: tl.constexpr, COLS: tl.constexpr, PADDING: tl.constexpr):
    """A tile that sticks out of X goes whole into Y, its padding too; X is read transposed."""
    at = (tl.program_id(0) * ROWS - 2, tl.program_id(1) * COLS - 1)
    x = tl.load(
        tl.make_block_ptr(X, (N, M), (1, N), (at[1], at[0]), (COLS, ROWS), (0, 1)),
        boundary_check=(1, 0), padding_option=PADDING,
    )  # fmt: skip
    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(tl.make_block_ptr(Y, (ROWS * tl.num_programs(0) * tl.num_programs(1), COLS), (COLS, 1),
                               (program * ROWS, 0), (ROWS, COLS), (1, 0)), x.T)  # fmt: skip


def attention(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.swapaxes(1, 2) * q.shape[2] ** -0.5
    if causal:
        s = np.where(np.tri(q.shape[1], dtype=bool), s, -np.inf)
    best = s.max(axis=2, keepdims=True)
    p = np.exp(s - best)
    total = p.sum(axis=2, keepdims=True)
    return p / total @ v, (best + np.log(total))[..., 0]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "dtype, head_dim, blocks", [("fp16", 64, (64, 32)), ("bf16", 128, (64, 64))]
)
def test_result_and_log_sum_exp(device, dtype, head_dim, blocks, causal):
    """Attention over block pointers gives the result, and the log-sum-exp, of float64."""
    heads, length = 2, 1000 if device.on_gpu else 150
    q, k, v = (random((heads, length, head_dim), dtype, seed) for seed in (1, 2, 3))
    out, m = device.output(q.shape, dtype), device.output((heads, length), "fp32")
    strides = (length * head_dim, head_dim) * 4
    attention_kernel[(triton.cdiv(length, blocks[0]), heads)](
        *map(device.to, (q, k, v)), m.array, out.array, head_dim**-0.5, *strides, length,
        HEAD_DIM=head_dim, BLOCK_M=blocks[0], BLOCK_N=blocks[1], STAGE=3 if causal else 1,
    )  # fmt: skip
    expected, lse = attention(q, k, v, causal)
    allowed = 2e-3 if dtype == "fp16" else 2e-2
    # l starts at 1, which the first rescaling by exp2(-inf) takes away.
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, atol=allowed, rtol=allowed)
    np.testing.assert_allclose(m.numpy() * np.log(2), lse, atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("a_columns, b_columns", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("shape", [(70, 50, 96), (65, 130, 75)], ids=str)
def test_batched_gemm_in_both_orders(device, shape, a_columns, b_columns):
    """A batch of GEMMs is right with operands by rows and by columns."""
    M, N, K = shape if not device.on_gpu else (shape[0] * 9, shape[1] * 7, shape[2] * 4)
    a, b = random((2, M, K), "fp16", 4), random((2, K, N), "fp16", 5)
    d_a = (
        device.to(np.ascontiguousarray(a.swapaxes(1, 2))).swapaxes(1, 2)
        if a_columns
        else device.to(a)
    )
    d_b = (
        device.to(np.ascontiguousarray(b.swapaxes(1, 2))).swapaxes(1, 2)
        if b_columns
        else device.to(b)
    )
    c = device.output((2, M, N), "fp16")
    strides = [s for x in (d_a, d_b, c.array) for s in device.strides(x)]

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), 2)

    matmul_kernel[grid](
        d_a, d_b, c.array, M, N, K, *strides, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32, GROUP_M=4,
        A_ORDER=(0, 1) if a_columns else (1, 0), B_ORDER=(0, 1) if b_columns else (1, 0),
    )  # fmt: skip
    result = c.numpy()
    for i in range(2):
        check_gemm(result[i], a[i], b[i])


@pytest.mark.parametrize("padding", ["", "zero", "nan"])
def test_padding(device, padding):
    """Windows that reach past an array hold zeros or NaN there, as the option says."""
    M, N, rows, cols = 21, 37, 8, 16
    grid = (triton.cdiv(M + 2, rows) + 1, triton.cdiv(N + 1, cols))
    x = random((M, N), "fp32", 6)
    y = device.output((grid[0] * grid[1] * rows, cols), "fp32")
    padded_copy_kernel[grid](device.to(x), y.array, M, N, ROWS=rows, COLS=cols, PADDING=padding)
    whole = np.full((grid[0] * rows, grid[1] * cols), np.nan if padding == "nan" else 0, np.float32)
    whole[2 : M + 2, 1 : N + 1] = x
    expected = whole.reshape(grid[0], rows, grid[1], cols).swapaxes(1, 2).reshape(-1, cols)
    np.testing.assert_array_equal(y.numpy(), expected)
