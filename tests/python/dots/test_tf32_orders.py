"""Dots of fp32 by tf32 in all orders of operands in memory, on wgmma (Hopper)."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

ORDERS = ["nn", "nt", "tn", "tt"]
BLOCKS = [
    (64, 64, 32, 4),
    (128, 64, 16, 4),
    (64, 128, 64, 8),
    (128, 128, 32, 8),
    (64, 64, 16, 4),
    (128, 256, 32, 8),
]


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, bias_ptr, scale_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EPILOGUE: tl.constexpr,
):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (k + rk[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(k + rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    if EPILOGUE:
        bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0)
        scale = tl.load(scale_ptr + rm, mask=rm < M, other=0.0)
        acc = acc * scale[:, None] + bias[None, :]
        acc -= tl.sum(tl.where(rn[None, :] < N, acc, 0.0), 1)[:, None] / N
    c_ptrs = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def laid(device, matrix, order):
    """`matrix` in memory by rows (n), or by columns (t): "nn" is A along K and B along N."""
    if order == "n":
        return device.to(matrix)
    return device.to(np.ascontiguousarray(matrix.T)).T


def run(device, a, b, orders, block, stages=3, epilogue=None, out_order="n", **options):
    (M, K), N = a.shape, b.shape[1]
    bm, bn, bk, warps = block
    da, db = laid(device, a, orders[0]), laid(device, b, orders[1])
    out = device.output((M, N) if out_order == "n" else (N, M), "fp32")
    cm, cn = device.strides(out.array)
    if out_order == "t":
        cm, cn = cn, cm
    bias, scale = epilogue or (np.zeros(N, np.float32), np.ones(M, np.float32))
    matmul[(triton.cdiv(M, bm), triton.cdiv(N, bn))](
        da, db, out.array, device.to(bias), device.to(scale), M, N, K,
        *device.strides(da), *device.strides(db), cm, cn,
        bm, bn, bk, epilogue is not None, num_stages=stages, num_warps=warps, **options,
    )  # fmt: skip
    result = out.numpy()
    return result if out_order == "n" else result.T


def check(result, a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    size = np.abs(a) @ np.abs(b)
    assert (np.abs(result - a @ b) <= 2.0**-10 * size + 1e-6).all()


def operands(M, N, K, seed):
    return random((M, K), "fp32", seed), random((K, N), "fp32", seed + 1)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("orders", ORDERS)
def test_orders(device, orders, block):
    """Operands in every order give the right dot."""
    bm, bn, bk, _ = block
    a, b = operands(2 * bm, bn, 5 * bk, 1)
    check(run(device, a, b, orders, block), a, b)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("orders", ORDERS)
def test_stages(device, orders, stages):
    """The number of stages does not change a dot."""
    a, b = operands(64, 128, 224, 3)
    check(run(device, a, b, orders, (64, 64, 32, 4), stages), a, b)


@pytest.mark.parametrize("orders", ORDERS)
def test_without_a_producer(device, orders):
    a, b = operands(128, 128, 160, 5)
    options = {"disabled_passes": "nv-specialise-warps"}
    check(run(device, a, b, orders, (64, 128, 32, 4), **options), a, b)
    check(run(device, a, b, orders, (128, 64, 32, 8), 2, **options), a, b)


@pytest.mark.parametrize(
    "shape", [(100, 72, 56), (65, 131, 33), (1, 64, 96), (64, 4, 100)], ids=str
)
@pytest.mark.parametrize("orders", ORDERS)
def test_ragged_shapes(device, orders, shape):
    a, b = operands(*shape, 7)
    check(run(device, a, b, orders, (64, 64, 32, 4)), a, b)


@pytest.mark.parametrize("out_order", ["n", "t"])
@pytest.mark.parametrize("orders", ORDERS)
def test_epilogue_along_both_axes(device, orders, out_order):
    a, b = operands(128, 128, 96, 9)
    bias, scale = random((128,), "fp32", 11), random((128,), "fp32", 12)
    result = run(device, a, b, orders, (64, 128, 32, 4), 3, (bias, scale), out_order)
    exact = a.astype(np.float64) @ b * scale[:, None] + bias
    exact -= exact.mean(1, keepdims=True)
    assert (np.abs(result - exact) <= 2.0**-9 * (np.abs(a) @ np.abs(b)).max()).all()


@pytest.mark.parametrize("passes", ["", "nv-specialise-warps"])
@pytest.mark.parametrize("orders", ["nn", "nt", "tn"])
def test_operands_are_rounded_to_nearest(device, orders, passes):
    """Cut off, positive operands make every product too small, by 2^-11 of it for each operand."""
    a, b = (1 + np.abs(x) % 1 for x in operands(128, 128, 256, 13))
    result = run(device, a, b, orders, (64, 64, 32, 4), disabled_passes=passes)
    assert abs((result / (a.astype(np.float64) @ b) - 1).mean()) < 2.0**-14


@triton.jit
def used_twice(
    a_ptr, b_ptr, c_ptr, d_ptr, K, stride_am, stride_ak, stride_bk, stride_bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WHAT: tl.constexpr,
):  # fmt: skip
    """The operands of a dot are read a second time: by an exact dot, and by a sum."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc, other = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * stride_am + (k + rk)[None, :] * stride_ak)
        b = tl.load(b_ptr + (k + rk)[:, None] * stride_bk + rn[None, :] * stride_bn)
        acc = tl.dot(a, b, acc)
        if WHAT == "exact dot":
            other = tl.dot(a, b, other, input_precision="ieee")
        elif WHAT == "dot":
            other = tl.dot(a, b * 2, other)
        elif WHAT == "sum":
            other += tl.sum(a, 1)[:, None] + tl.sum(b, 0)[None, :]
        else:
            other = tl.dot(a, b, other) * 0.5 + acc
    at = rm[:, None] * BN + rn[None, :]
    tl.store(c_ptr + at, acc)
    tl.store(d_ptr + at, other)


def second_result(what, a, b, bk):
    a, b = a.astype(np.float64), b.astype(np.float64)
    if what == "exact dot":
        return a @ b
    if what == "dot":
        return a @ b * 2
    if what == "sum":
        return a.sum(1)[:, None] + b.sum(0)
    acc = other = 0
    for k in range(0, a.shape[1], bk):
        part = a[:, k : k + bk] @ b[k : k + bk]
        acc = acc + part
        other = (other + part) * 0.5 + acc
    return other


@pytest.mark.parametrize("what", ["exact dot", "dot", "sum", "chain"])
@pytest.mark.parametrize("orders", ORDERS)
def test_second_use(device, orders, what):
    a, b = operands(64, 64, 160, 15)
    da, db = laid(device, a, orders[0]), laid(device, b, orders[1])
    c, d = device.output((64, 64), "fp32"), device.output((64, 64), "fp32")
    used_twice[(1,)](
        da, db, c.array, d.array, 160, *device.strides(da), *device.strides(db), 64, 64, 32, what,
        num_warps=4,
    )  # fmt: skip
    check(c.numpy(), a, b)
    exact, size = second_result(what, a, b, 32), np.abs(a).astype(np.float64) @ np.abs(b)
    within = {"exact dot": 2.0**-20, "sum": 2.0**-18}.get(what, 2.0**-8)
    assert (np.abs(d.numpy() - exact) <= within * size + 1e-5).all()


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Chained dots: the second one's left operand is computed, and its accumulator is rescaled."""
    rm, rn, rd = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        k = tl.load(k_ptr + (start + rn)[:, None] * D + rd[None, :])
        v = tl.load(v_ptr + (start + rn)[:, None] * D + rd[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        now = tl.maximum(most, tl.max(s, 1))
        p, shrink = tl.exp(s - now[:, None]), tl.exp(most - now)
        total, most = total * shrink + tl.sum(p, 1), now
        acc = tl.dot(p, v, acc * shrink[:, None])
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], acc / total[:, None])


@pytest.mark.parametrize("block", [(64, 64, 64, 4), (128, 32, 64, 8), (64, 32, 128, 4)], ids=str)
def test_chained_dots(device, block):
    """Attention in tf32: the second dot takes the first one's result from registers."""
    bm, bn, d, warps = block
    q, k, v = (
        random((rows, d), "fp32", seed) for seed, rows in ((17, bm), (18, 4 * bn), (19, 4 * bn))
    )
    out = device.output((bm, d), "fp32")
    args = [device.to(x) for x in (q, k, v)]
    attention[(1,)](*args, out.array, 4 * bn, d**-0.5, bm, bn, d, num_warps=warps)
    s = q.astype(np.float64) @ k.T * d**-0.5
    p = np.exp(s - s.max(1, keepdims=True))
    exact = p / p.sum(1, keepdims=True) @ v
    assert np.abs(out.numpy() - exact).max() < 5e-3


@triton.jit
def two_loops(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_bk, stride_bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Tiles one after the other in a program, each over two loops that hand the accumulator on."""
    rk = tl.arange(0, BK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM), tl.num_programs(0)):
        rm, rn = tile * BM + tl.arange(0, BM), tl.arange(0, BN)
        acc = tl.full((BM, BN), 1.0, tl.float32)
        half = K // 2
        for k in range(0, half, BK):
            a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
            b = tl.load(b_ptr + (k + rk)[:, None] * stride_bk + rn[None, :] * stride_bn)
            acc = tl.dot(a, b, acc)
        for k in range(half, K, BK):
            a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
            b = tl.load(b_ptr + (k + rk)[:, None] * stride_bk + rn[None, :] * stride_bn)
            acc = tl.dot(a, b, acc)
            if k == half:
                acc += 2.0
        tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@pytest.mark.parametrize("orders", ["nn", "nt"])
def test_accumulator_of_two_loops(device, orders):
    a, b = operands(192, 64, 256, 23)
    db = laid(device, b, orders[1])
    out = device.output((192, 64), "fp32")
    two_loops[(2,)](
        device.to(a), db, out.array, 192, 64, 256, *device.strides(db), 64, 64, 32, num_warps=4
    )
    check(out.numpy() - 3, a, b)


@pytest.mark.parametrize("order", ["n", "t"])
def test_invariant_and_computed_operands(device, order):
    """One operand is loaded before the loop, the other is computed from what is loaded."""
    a, b = operands(64, 256, 64, 25)
    db, out = laid(device, b, order), device.output((64, 256), "fp32")
    invariant[(1,)](device.to(a), db, out.array, 256, *device.strides(db), 64, 64, 64, num_warps=4)
    check(out.numpy(), a, (b * 0.5 + 1).astype(np.float32))


@triton.jit
def invariant(
    a_ptr, b_ptr, c_ptr, N, stride_bk, stride_bn,
    BM: tl.constexpr, BN: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    for n in range(0, N, BN):
        b = tl.load(b_ptr + rk[:, None] * stride_bk + (n + rn)[None, :] * stride_bn)
        tl.store(c_ptr + rm[:, None] * N + (n + rn)[None, :], tl.dot(a, b * 0.5 + 1))


@triton.jit
def turned_kernel(x_ptr, y_ptr, times, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + places)
    turned = tl.dot(x, x)
    for _ in range(times):
        turned = tl.trans(turned)
    tl.store(y_ptr + places, turned)


@pytest.mark.parametrize("times", [0, 1, 2, 5])
def test_a_loop_that_only_transposes_a_product(device, times):
    x = random((32, 32), "fp16")
    y = device.output((32, 32), "fp32")
    turned_kernel[(1,)](device.to(x), y.array, times, N=32)
    product = x.astype(np.float64) @ x.astype(np.float64)
    np.testing.assert_allclose(y.numpy(), product.T if times % 2 else product, rtol=1e-4, atol=1e-3)
