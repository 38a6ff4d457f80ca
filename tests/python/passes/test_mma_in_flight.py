"""MMAs that run while other instructions do: what they read, in registers and in shared memory, stays until they
are waited for."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, random


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, late_ptr, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, USE: tl.constexpr):  # fmt: skip
    """Attention whose rounded weights are used once more: for the row sums, or after the second dot."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    late = tl.zeros((BM,), tl.float32)
    m = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, n, BN):
        cols = start + tl.arange(0, BN)
        k = tl.load(k_ptr + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        s = tl.dot(q, tl.trans(k)) * 0.125
        s = tl.where(cols[None, :] < n, s, -1.0e30)
        now = tl.maximum(m, tl.max(s, 1))
        shrink = tl.exp(m - now)
        p = tl.exp(s - now[:, None])
        rounded = p.to(v.dtype)
        if USE == "sum":
            total = total * shrink + tl.sum(rounded.to(tl.float32), 1)
        else:
            total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(rounded, v, acc * shrink[:, None])
        if USE == "after":
            late = tl.maximum(late * shrink, tl.max(rounded.to(tl.float32), 1))
        m = now
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc / total[:, None])
    tl.store(late_ptr + rows, late)


@pytest.mark.parametrize("use", ["none", "sum", "after"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "BM,BN,D,n,warps,stages",
    [(64, 64, 64, 300, 4, 3), (128, 64, 64, 300, 4, 3), (128, 128, 64, 600, 8, 2), (64, 64, 128, 300, 4, 2)],
)  # fmt: skip
def test_weights_are_used_twice(device, BM, BN, D, n, warps, stages, dtype, use):
    q, k, v = random((BM, D), dtype), random((n, D), dtype), random((n, D), dtype)
    out, late = device.output((BM, D), "fp32"), device.output((BM,), "fp32")
    attention[(1,)](
        device.to(q), device.to(k), device.to(v), out.array, late.array, n,
        BM=BM, BN=BN, D=D, USE=use, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    p = np.exp(s - s.max(axis=1, keepdims=True))
    exact = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=4e-3 if dtype == "fp16" else 2e-2)
    np.testing.assert_allclose(late.numpy(), 1.0 if use == "after" else 0.0, rtol=0, atol=1e-6)


@triton.jit
def two_loops(q_ptr, k_ptr, v_ptr, table_ptr, o_ptr, sum_ptr, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """A loop of two dots, then one of four with a transposed operand, which goes through scratch."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    columns = tl.zeros((BN, D), tl.float32)
    mid = (n // 2) // BN * BN
    for start in range(0, mid, BN):
        at = tl.load(table_ptr + start // BN) * BN + tl.arange(0, BN)
        k = tl.load(k_ptr + at[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(q, tl.trans(k)) * 0.5 - 4.0)
        v = tl.load(v_ptr + at[:, None] * D + d[None, :])
        acc += tl.dot(p.to(v.dtype), v)
    for start in range(mid, n, BN):
        cols = start + tl.arange(0, BN)
        at = tl.load(table_ptr + start // BN) * BN + tl.arange(0, BN)
        k = tl.load(k_ptr + at[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        v = tl.load(v_ptr + at[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        p = tl.exp2(tl.dot(q, tl.trans(k)) * 0.5 - 4.0)
        columns = tl.dot(tl.trans(p.to(v.dtype)), q, columns)
        dp = tl.dot(q, tl.trans(v))
        acc = tl.dot((p * (dp * 0.125)).to(v.dtype), k, acc)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc)
    tl.atomic_add(sum_ptr + tl.arange(0, BN)[:, None] * D + d[None, :], columns)


@pytest.mark.parametrize("BN,D,warps,stages", [(32, 64, 4, 2), (32, 64, 8, 3), (32, 128, 4, 2), (64, 64, 8, 2)])  # fmt: skip
def test_scratch_next_to_mmas(device, BN, D, warps, stages):
    BM, n, programs = 128, 256, 2
    q = random((BM * programs, D), "fp16") / np.float16(D**0.25)
    k, v = random((n, D), "fp16") / np.float16(D**0.25), random((n, D), "fp16")
    table = np.random.default_rng().permutation(n // BN).astype(np.int32)
    out = device.output(q.shape, "fp32")
    sums = device.to(np.zeros((BN, D), np.float32))
    two_loops[(programs,)](
        device.to(q), device.to(k), device.to(v), device.to(table), out.array, sums, n,
        BM=BM, BN=BN, D=D, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    exact, columns = np.zeros(q.shape), np.zeros((BN, D))
    wide = q.astype(np.float64)
    for block, page in enumerate(table):
        keys, values = (x[page * BN : (page + 1) * BN].astype(np.float64) for x in (k, v))
        p = np.exp2(wide @ keys.T * 0.5 - 4)
        rounded = p.astype(DTYPES["fp16"]).astype(np.float64)
        if block < len(table) // 2:
            exact += rounded @ values
        else:
            columns += rounded.T @ wide
            weights = p * (wide @ values.T * 0.125)
            exact += weights.astype(DTYPES["fp16"]).astype(np.float64) @ keys
    scale = np.abs(exact).max()
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=4e-3 * scale)
    np.testing.assert_allclose(
        device.numpy(sums), columns, rtol=0, atol=1e-3 * np.abs(columns).max()
    )


@triton.jit
def both_ways(q_ptr, k_ptr, v_ptr, one_ptr, two_ptr, first, n, stride):
    """Rows that one dot reads through registers, as it is too small for wgmma, and another through a proxy."""
    rows, cols, d = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64)
    q = (tl.load(q_ptr + rows[:, None] * 64 + d[None, :]) * 0.5).to(tl.float16)
    one, two = tl.zeros((32, 128), tl.float32), tl.zeros((64, 64), tl.float32)
    for i in range(first, n, 32):
        k = tl.load(k_ptr + (i + cols)[:, None] * 64 + d[None, :])
        v = tl.load(v_ptr + (i + cols)[:, None] * stride + d[None, :])
        one = tl.dot(v, tl.trans(q), one)
        two += tl.dot(tl.trans(v), k)
    tl.store(one_ptr + cols[:, None] * 128 + rows[None, :], one)
    tl.store(two_ptr + d[:, None] * 64 + d[None, :], two)


@pytest.mark.parametrize("first,n", [(0, 160), (32, 160), (96, 96)])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_registers_and_proxy(device, stages, first, n):
    q, k, v = random((128, 64), "fp16"), random((160, 64), "fp16"), random((160, 72), "fp16")
    one, two = device.output((32, 128), "fp32"), device.output((64, 64), "fp32")
    both_ways[(1,)](
        device.to(q), device.to(k), device.to(v), one.array, two.array, first, n, 72,
        num_stages=stages,
    )  # fmt: skip
    halved = (q * np.float16(0.5)).astype(np.float64)
    values, keys = v[first:n, :64].astype(np.float64), k[first:n].astype(np.float64)
    exact = sum((block @ halved.T for block in values.reshape(-1, 32, 64)), np.zeros((32, 128)))
    np.testing.assert_allclose(one.numpy(), exact, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(two.numpy(), values.T @ keys, rtol=1e-4, atol=1e-3)


@triton.jit
def in_a_branch(x_ptr, w_ptr, v_ptr, sum_ptr, out_ptr, taken, N: tl.constexpr):
    """A rounded tile that an MMA under a condition reads, and sums before and after it."""
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    rounded = tl.dot(tl.load(x_ptr + at), tl.load(w_ptr + at)).to(tl.float16)
    acc = tl.zeros((N, N), tl.float32)
    total = tl.sum(rounded.to(tl.float32), 0)
    if taken > 0:
        acc = tl.dot(rounded, tl.load(v_ptr + at), acc)
    total += tl.max(rounded.to(tl.float32), 0)
    tl.store(sum_ptr + r, total)
    tl.store(out_ptr + at, acc)


@pytest.mark.parametrize("taken", [0, 1])
@pytest.mark.parametrize("warps", [4, 8])
def test_reader_outside_of_the_branch(device, warps, taken):
    x, w, v = (random((64, 64), "fp16") / np.float16(4) for _ in range(3))
    total, out = device.output((64,), "fp32"), device.output((64, 64), "fp32")
    in_a_branch[(1,)](
        device.to(x),
        device.to(w),
        device.to(v),
        total.array,
        out.array,
        taken,
        N=64,
        num_warps=warps,
    )
    product = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(total.numpy(), product.sum(0) + product.max(0), rtol=0, atol=2e-2)
    exact = product @ v.astype(np.float64) if taken else np.zeros((64, 64))
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-2, atol=1e-2)


@triton.jit
def halved(a_ptr, b_ptr, out_ptr, n, N: tl.constexpr, KNOWN: tl.constexpr):
    """A sum that is halved before each dot, the first time as zeros."""
    r = tl.arange(0, 64)
    at = r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, N if KNOWN else n):
        acc = tl.dot(tl.load(a_ptr + i * 4096 + at), tl.load(b_ptr + i * 4096 + at), acc * 0.5)
    tl.store(out_ptr + at, acc)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("warps,stages", [(4, 3), (8, 3), (4, 1)])
def test_halved_sums(device, warps, stages, n, known):
    a, b = random((n, 64, 64), "fp16"), random((n, 64, 64), "fp16")
    out = device.output((64, 64), "fp32")
    halved[(1,)](
        device.to(a), device.to(b), out.array, n, N=n, KNOWN=known,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    products = a.astype(np.float64) @ b.astype(np.float64)
    exact = sum(0.5 ** (n - 1 - i) * product for i, product in enumerate(products))
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-4, atol=1e-3)
