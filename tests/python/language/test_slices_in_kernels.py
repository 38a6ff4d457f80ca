"""Parts of tiles in whole kernels: persistent GEMMs with descriptors, attention, and mixtures."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def mixed_kernel(out_ptr, x_ptr, i, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    rows = tl.arange(0, M)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    row = tl.load(x_ptr + columns)
    wide = tl.broadcast_to(row[None, :], (M, N))
    tl.store(out_ptr + columns, wide[i])
    wide[i] = 2.0
    wide[:, i] = 3.0
    tl.store(out_ptr + N + columns, tl.sum(wide, 0))
    s = tl.sort(x)
    tl.store(out_ptr + 2 * N + columns, tl.cat((s[0, : N // 2], s[-1, N // 2 :])))
    c = tl.cumsum(x, 0)
    tl.store(out_ptr + 3 * N + columns, c[i])
    n = 0
    while x[n % M, 0] > -0.5 and n < 7:
        n += 1
        if x[n % M, n % N] > 1.0:
            x[n % M] = -1.0
    tl.store(out_ptr + 4 * N + columns, x[:, :][0] + n)
    ints = (columns * 3) % 5
    total = 0.0
    for k in range(ints[i]):
        total += row[ints[k]]
    tl.store(out_ptr + 5 * N + columns, row * 0 + total)
    one = tl.full((1, 1), 5.0, tl.float32)
    one[i * 0] += row[i]
    one[0, :] *= 2
    tl.store(out_ptr + 6 * N + columns, row * 0 + one[0, i * 0])
    mx = tl.max(x, 1)
    mx[i] = 100.0
    e = x / mx[:, None]
    tl.store(out_ptr + 7 * N + columns, e[i])
    h = tl.trans(x)[:, i]
    r = tl.reshape(x, (M * N,))
    tl.store(out_ptr + 8 * N + columns, r[N * (M // 2) : N * (M // 2) + N] + h[1])
    tl.store(out_ptr + 9 * N + columns, r[3 : 3 + N] if M > 1 else row)


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("shape", [(16, 16), (2, 128), (64, 8), (8, 64), (128, 32)])
@pytest.mark.parametrize("i", [1, -1])
def test_mixtures(device, shape, num_warps, i):
    """Parts agree with NumPy together with reductions, sorts, branches and loops."""
    M, N = shape
    x = random(shape, "fp32", seed=M + N)
    out = device.output((10, N), "fp32")
    mixed_kernel[(1,)](out.array, device.to(x.copy()), i, M, N, num_warps=num_warps)
    row = x[0].copy()
    wide = np.broadcast_to(row, shape).copy()
    e = [row]
    wide[i] = 2
    wide[:, i] = 3
    e.append(wide.sum(0))
    s = np.sort(x, 1)
    e.append(np.concatenate([s[0, : N // 2], s[-1, N // 2 :]]))
    e.append(np.cumsum(x, 0)[i])
    a = x.copy()
    n = 0
    while a[n % M, 0] > -0.5 and n < 7:
        n += 1
        if a[n % M, n % N] > 1:
            a[n % M] = -1
    e.append(a[0] + n)
    ints = (np.arange(N) * 3) % 5
    total = sum(row[ints[k]] for k in range(ints[i]))
    e.append(np.full(N, total))
    e.append(np.full(N, (5 + row[i]) * 2))
    mx = a.max(1)
    mx[i] = 100
    e.append((a / mx[:, None])[i])
    h = a.T[:, i]
    r = a.ravel()
    e.append(r[N * (M // 2) : N * (M // 2) + N] + h[1])
    e.append(r[3 : 3 + N])
    np.testing.assert_allclose(out.numpy(), np.stack(e), rtol=1e-4, atol=1e-4)


@triton.jit
def gemm_kernel(
    out_ptr,
    a_ptr,
    b_ptr,
    counts_ptr,
    M,
    N,
    K,
    tiles,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    o = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN // 2])
    counts = tl.zeros((8,), tl.int32)
    cols = N // BN
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=WS):
        r, c = t // cols, t % cols
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([r * BM, k]), b.load([k, c * BN]), acc)
        counts[t % 8] += 1
        acc[t % BM] *= 2.0
        acc[:, BN // 2 :] += acc[:, : BN // 2]
        o.store([r * BM, c * BN], acc[:, : BN // 2].to(tl.float16))
        o.store([r * BM, c * BN + BN // 2], acc[:, BN // 2 :].to(tl.float16))
    tl.store(counts_ptr + tl.program_id(0) * 8 + tl.arange(0, 8), counts)


@pytest.mark.parametrize("ws", [False, True])
@pytest.mark.parametrize("blocks, num_warps", [((128, 128, 64), 8), ((64, 64, 64), 4)])
def test_a_persistent_gemm_with_descriptors(device, blocks, num_warps, ws):
    BM, BN, BK = blocks
    M, N, K = 2 * BM, 3 * BN, 3 * BK
    a, b = random((M, K), "fp16", seed=1), random((K, N), "fp16", seed=2)
    out = device.output((M, N), "fp16")
    counts = device.output((2, 8), "i32")
    gemm_kernel[(2,)](
        out.array,
        device.to(a),
        device.to(b),
        counts.array,
        M,
        N,
        K,
        6,
        *blocks,
        ws,
        num_warps=num_warps,
    )
    acc = a.astype(np.float64) @ b.astype(np.float64)
    for t in range(6):
        r, c = t // 3, t % 3
        tile = acc[r * BM : r * BM + BM, c * BN : c * BN + BN]
        tile[t % BM] *= 2
        tile[:, BN // 2 :] += tile[:, : BN // 2]
    np.testing.assert_allclose(out.numpy().astype(np.float64), acc, rtol=2e-3, atol=6e-2)
    e = np.zeros((2, 8), np.int32)
    for t in range(6):
        e[t % 2, t % 8] += 1
    np.testing.assert_array_equal(counts.numpy(), e)


@triton.jit
def attention_kernel(
    out_ptr, q_ptr, k_ptr, v_ptr, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    rows, keys, d = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    m = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for at in range(0, n, BN):
        k = tl.load(k_ptr + (at + keys)[:, None] * D + d[None, :])
        v = tl.load(v_ptr + (at + keys)[:, None] * D + d[None, :])
        s = tl.dot(q[:, : D // 2], k[:, : D // 2].T)
        s = tl.dot(q[:, D // 2 :], k[:, D // 2 :].T, s) * 0.125
        s[:, 0] = -1.0
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        scale = tl.exp(m - new)
        total = total * scale + tl.sum(p, 1)
        acc *= scale[:, None]
        acc = tl.dot(p[:, : BN // 2].to(tl.float16), v[: BN // 2], acc)
        acc = tl.dot(p[:, BN // 2 :].to(tl.float16), v[BN // 2 :], acc)
        m = new
    tl.store(out_ptr + rows[:, None] * D + d[None, :], acc / total[:, None])


@pytest.mark.parametrize(
    "BM, BN, D, num_warps", [(64, 64, 64, 4), (128, 64, 64, 8), (128, 128, 64, 4), (16, 32, 32, 1)]
)
def test_attention_in_halves(device, BM, BN, D, num_warps):
    n = 3 * BN
    q, k, v = (
        random((BM, D), "fp16", seed=1),
        random((n, D), "fp16", seed=2),
        random((n, D), "fp16", seed=3),
    )
    out = device.output((BM, D), "fp32")
    attention_kernel[(1,)](
        out.array, device.to(q), device.to(k), device.to(v), n, BM, BN, D, num_warps=num_warps
    )
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    s[:, ::BN] = -1
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(out.numpy(), p @ v.astype(np.float64), rtol=2e-2, atol=5e-3)
