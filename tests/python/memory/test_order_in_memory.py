"""Stores and loads of one place, in the order of the program, whichever threads do them."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def matmul_kernel(a, b, c, d, M, N, K, n, WAY: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """A dot's result and what was loaded are stored by different threads."""
    BK: tl.constexpr = 32
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    at = rm[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    if WAY == "zero, then store where it holds":
        tl.store(c + at, acc.to(tl.float16), mask)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], (rm < M)[:, None] & (rk < K)[None, :], 0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], (rk < K)[:, None] & (rn < N)[None, :], 0.0)
        acc = tl.dot(x, y, acc)
    result = acc.to(tl.float16)
    if WAY == "store twice":
        tl.store(c + at, result, mask)
        tl.store(c + at, tl.load(d + at, mask, 0.0), mask)
    elif WAY == "store a part later":
        tl.store(c + at, tl.load(d + at, mask, 0.0), mask)
        tl.store(c + at, result, mask & (rn % 4 == 1)[None, :])
    elif WAY == "store, then overwrite where it holds":
        tl.store(c + at, result, mask)
        if n > 2:
            tl.store(c + at, tl.load(d + at, mask, 0.0), mask)
    elif WAY == "zero, then store where it holds":
        if n > 2:
            tl.store(c + at, result, mask)
    elif WAY == "load in a loop behind":
        tl.store(c + at, result, mask)
        total = tl.zeros((BM, BN), tl.float32)
        for _ in range(n):
            total += tl.load(c + at, mask, 0.0)
        tl.store(d + at, total.to(tl.float16), mask)
    elif WAY == "load in a loop before":
        total = tl.zeros((BM, BN), tl.float32)
        for _ in range(n):
            total += tl.load(c + at, mask, 0.0)
        tl.store(c + at, result, mask)
        tl.store(d + at, total.to(tl.float16), mask)
    elif WAY == "store where it holds, then load":
        if n > 2:
            tl.store(c + at, result, mask)
        tl.store(d + at, tl.load(c + at, mask, 0.0) * 2, mask)
    elif WAY == "store, then load where it holds":
        tl.store(c + at, result, mask)
        if n > 2:
            tl.store(d + at, tl.load(c + at, mask, 0.0) * 2, mask)
    elif WAY == "load by another sum":
        tl.store(c + at, result, mask)
        again = c + rn[None, :] + rm[:, None] * N
        tl.store(d + at, tl.load(again, mask, 0.0) * 2, mask)


def expected(way, product, c, d):
    """What `c` and `d` are in the end."""
    if way in ("store twice", "store, then overwrite where it holds"):
        return d, d
    if way == "store a part later":
        return np.where(np.arange(c.shape[1]) % 4 == 1, product, d), d
    if way == "zero, then store where it holds":
        return product, d
    if way == "load in a loop behind":
        return product, 3 * product
    return product, 3 * c if way == "load in a loop before" else 2 * product


WAYS = [
    "store twice",
    "store a part later",
    "store, then overwrite where it holds",
    "zero, then store where it holds",
    "load in a loop behind",
    "load in a loop before",
    "store where it holds, then load",
    "store, then load where it holds",
    "load by another sum",
]


@pytest.mark.parametrize("block", [(64, 64, 4), (128, 128, 8), (64, 64, 2)])
@pytest.mark.parametrize("way", WAYS)
def test_stored_tiles_of_a_gemm(device, way, block):
    """A GEMM's tile that is stored and loaded again keeps the order of the program."""
    M, N, K = 144, 112, 80
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    c, d = random((M, N), "fp16", 3), random((M, N), "fp16", 4)
    on_c, on_d = device.to(c.copy()), device.to(d.copy())
    bm, bn, warps = block
    grid = (triton.cdiv(M, bm), triton.cdiv(N, bn))
    matmul_kernel[grid](
        device.to(a), device.to(b), on_c, on_d, M, N, K, 3, way, bm, bn, num_warps=warps
    )
    product = a.astype(np.float64) @ b.astype(np.float64)
    wanted = expected(way, product, c.astype(np.float64), d.astype(np.float64))
    for got, want in zip((on_c, on_d), wanted, strict=True):
        np.testing.assert_allclose(device.numpy(got).astype(np.float64), want, 4e-3, 2e-2)


@triton.jit
def number_kernel(number, out, n, WAY: tl.constexpr, N: tl.constexpr):
    """All threads load what one of them stores."""
    i = tl.arange(0, N)
    if WAY == "store behind all uses":
        count = tl.load(number)
        tl.store(out + i, count + i)
        tl.store(number, count + 1)
    elif WAY == "count in a loop":
        total = tl.zeros((N,), tl.int32)
        for _ in range(n):
            count = tl.load(number)
            tl.store(number, count + 1)
            total += count
        tl.store(out + i, total)
    elif WAY == "choose by it and change it":
        count = tl.load(number)
        if count == 5:
            tl.store(number, 6)
            tl.store(out + i, i)
        else:
            tl.store(out + i, i * 0)
    elif WAY == "choose by it and exchange it":
        count = tl.load(number)
        if count == 5:
            tl.atomic_xchg(number, 6)
        else:
            count = 100
        tl.store(out + i, count + i)
    elif WAY == "count while":
        while tl.load(number) < 9:
            tl.store(number, tl.load(number) + 1)
        tl.store(out + i, tl.load(number) + i)
    elif WAY == "store in one round, load in the next":
        for k in range(n):
            if k % 2 == 0:
                tl.store(number, k)
            else:
                tl.store(out + i, tl.load(number) + i)
    elif WAY == "add to what was stored":
        tl.store(out + i, i)
        tl.atomic_add(out + i, i)
        tl.store(out + i, tl.load(out + i) * 2)


@pytest.mark.parametrize("num_warps", [1, 2, 8])
@pytest.mark.parametrize(
    ("way", "last", "start", "step"),
    [
        ("store behind all uses", 6, 5, 1),
        ("count in a loop", 12, 5 + 6 + 7 + 8 + 9 + 10 + 11, 0),
        ("choose by it and change it", 6, 0, 1),
        ("choose by it and exchange it", 6, 5, 1),
        ("count while", 9, 9, 1),
        ("store in one round, load in the next", 6, 4, 1),
        ("add to what was stored", 5, 0, 4),
    ],
)
def test_numbers(device, way, last, start, step, num_warps):
    """A number that is stored and loaded again keeps the order of the program."""
    number, out = device.to(np.array([5], np.int32)), device.output(256, "i32")
    number_kernel[(1,)](number, out.array, 7, way, 256, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), start + step * np.arange(256))
    assert device.numpy(number)[0] == last


@triton.jit
def state_kernel(x, state, out, n, BM: tl.constexpr, BN: tl.constexpr):
    """A state in memory that each iteration reads and writes."""
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    for k in range(n):
        new = tl.load(state + at) * 0.5 + tl.load(x + k * BM * BN + at)
        tl.store(out + k * BM * BN + at, new)
        tl.store(state + at, new)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(4, 8), (32, 32), (64, 64)])
def test_states(device, shape, num_warps):
    """A state in memory that rounds change keeps the order of the program."""
    rounds = 5
    x, state = random((rounds, *shape), "fp32", 1), random(shape, "fp32", 2)
    out, kept = device.output((rounds, *shape), "fp32"), device.to(state.copy())
    state_kernel[(1,)](device.to(x), kept, out.array, rounds, *shape, num_warps=num_warps)
    wanted = state.astype(np.float64)
    for k in range(rounds):
        wanted = wanted * 0.5 + x[k]
        np.testing.assert_allclose(out.numpy()[k], wanted, 1e-5, 1e-5)
    np.testing.assert_allclose(device.numpy(kept), wanted, 1e-5, 1e-5)


@triton.jit
def overwritten_kernel(a, b, out, n, B: tl.constexpr):
    """A dot's result goes where every other row of an operand goes next, by other lanes."""
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    for i in range(n):
        x, y = tl.load(a + at), tl.load(b + i * B * B + at)
        tl.store(out + at, tl.dot(x, y))
        tl.store(out + at, y.to(tl.float32), mask=((r + i) % 2 == 0)[:, None])


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("side", [16, 64])
def test_stores_of_other_lanes(device, side, num_warps):
    """Of one warp, too: nothing but a barrier orders its lanes."""
    rounds = 3
    a, b = random((side, side), "fp16", 1), random((rounds, side, side), "fp16", 2)
    out = device.output((side, side), "fp32")
    overwritten_kernel[(1,)](
        device.to(a), device.to(b), out.array, rounds, side, num_warps=num_warps
    )
    last = b[-1].astype(np.float64)
    wanted = a.astype(np.float64) @ last
    wanted[(rounds - 1) % 2 :: 2] = last[(rounds - 1) % 2 :: 2]
    np.testing.assert_allclose(out.numpy(), wanted, 1e-3, 1e-2)


@triton.jit
def summed_then_added_kernel(x, total, n, B: tl.constexpr, ATOMIC: tl.constexpr):
    """Lanes hold copies of what is loaded; one of them may write it while another has not loaded it."""
    i = tl.arange(0, B)
    value = tl.load(x + i, mask=i < n, other=0.0)
    if ATOMIC:
        tl.atomic_add(x + i, value, mask=i < n)
    else:
        tl.store(x + i, value + value, mask=i < n)
    tl.store(total, tl.sum(value.to(tl.float32)))


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("size, num_warps", [(4, 1), (16, 1), (32, 1), (16, 2)])
def test_copies_of_other_lanes(device, size, num_warps, dtype, atomic):
    """What lanes load twice is loaded before any of them writes it back, of one warp, too."""
    x = random(size, dtype, seed=5)
    changed, total = device.to(x.copy()), device.output((1,), "fp32")
    summed_then_added_kernel[(1,)](
        changed, total.array, size - 1, size, atomic, num_warps=num_warps
    )
    np.testing.assert_allclose(total.numpy()[0], x[:-1].astype(np.float64).sum(), 1e-5, 1e-5)
    np.testing.assert_array_equal(device.numpy(changed), np.append(2 * x[:-1], x[-1:]))
