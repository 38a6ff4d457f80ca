"""Launches that choose between whole tiles and stream-K, by their grid and the length of K.

Bits show what a launch chose: those of a split tile are the ones of `nv-stream-k` by name.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm

SPLIT, WHOLE = {"enabled_passes": "nv-stream-k"}, {"disabled_passes": "nv-stream-k"}
B, BK = 64, 32


@triton.jit
def gemm(
    a, b, c, M, N, FIRST, K, WAY: tl.constexpr, B: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """C = A[:, FIRST:] B[FIRST:], the number of iterations written in the way of WAY."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    within = tl.arange(0, BK)
    acc = tl.zeros((B, B), tl.float32)
    if WAY == "steps":
        for k in range(FIRST, K, BK):
            acc = inner(a, b, acc, rows, columns, k + within, M, N, K)
    elif WAY == "blocks":
        for i in range(0, tl.cdiv(K - FIRST, BK)):
            acc = inner(a, b, acc, rows, columns, FIRST + i * BK + within, M, N, K)
    elif WAY == "pairs":
        for i in range(0, tl.cdiv(K - FIRST, BK), 2):
            for half in tl.static_range(2):
                k = FIRST + (i + half) * BK + within
                acc = inner(a, b, acc, rows, columns, k, M, N, K)
    elif WAY == "loaded":  # a number that the host does not know
        for i in range(0, tl.load(c).to(tl.int32)):
            acc = inner(a, b, acc, rows, columns, FIRST + i * BK + within, M, N, K)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=inside)


@triton.jit
def inner(a, b, acc, rows, columns, k, M, N, K):
    x = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows < M)[:, None] & (k < K)[None, :], other=0.0)  # fmt: skip
    y = tl.load(b + k[:, None] * N + columns[None, :], mask=(k < K)[:, None] & (columns < N)[None, :], other=0.0)  # fmt: skip
    return tl.dot(x, y, acc)


def launch(device, a, b, first, way, options):
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, B), triton.cdiv(N, B))
    outs = []
    for _ in range(2):  # the second one is like the one before
        out = device.output((M, N), "fp32")
        gemm[grid](
            device.to(a), device.to(b), out.array, M, N, first, K, way, B, BK,
            num_stages=3, num_warps=4, **options,
        )  # fmt: skip
        outs.append(out.numpy())
    np.testing.assert_array_equal(*outs)
    return outs[0]


def operands(M, N, K, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))


def splits(device):
    """Whether tiles can be split: three CTAs run at once on the emulated GPU."""
    return device.name == "emulated" and device.arch == 90


@pytest.mark.parametrize("way", ["steps", "blocks"])
@pytest.mark.parametrize(
    ("shape", "first", "is_split"),
    [
        ((64, 64, 12800), 0, True),
        ((50, 48, 12816), 0, True),  # edges
        ((64, 64, 16000), 3200, True),
        ((64, 64, 6400), 6272, False),  # four iterations
        ((64, 64, 320), 0, False),
        ((192, 64, 6400), 0, False),  # a full wave
        ((448, 256, 640), 0, False),  # part of a wave more than three
        ((64, 64, 16), 0, False),
        ((64, 64, 6400), 6400, False),  # none
        ((64, 64, 320), 6400, False),  # fewer than none
    ],
)
def test_a_launch_chooses(device, shape, first, is_split, way):
    a, b = operands(*shape)
    chosen = launch(device, a, b, first, way, {})
    check_gemm(chosen, a[:, first:], b[first:])
    if splits(device):
        split, whole = (launch(device, a, b, first, way, options) for options in (SPLIT, WHOLE))
        np.testing.assert_array_equal(chosen, split if is_split else whole)
        assert is_split == bool((chosen != whole).any())


def test_one_kernel_chooses_again_for_each_shape(device):
    rng = np.random.default_rng(2)
    for i in range(12):
        M, N = (16 * int(n) for n in rng.integers(1, 13, 2))
        K = 16 * int(rng.integers(1, 20) if i % 2 else rng.integers(300, 700))
        a, b = operands(M, N, K, seed=i)
        chosen = launch(device, a, b, 0, "steps", {})
        check_gemm(chosen, a, b)
        if splits(device):
            alternatives = [launch(device, a, b, 0, "steps", o) for o in (SPLIT, WHOLE)]
            assert any((chosen == other).all() for other in alternatives)


@pytest.mark.parametrize("way", ["pairs", "loaded"])
def test_loops_that_are_not_split(device, way):
    """Two dots in an iteration, or iterations that the arguments do not tell."""
    a, b = operands(64, 64, 6400)
    out = device.output((64, 64), "fp32")
    results = []
    for options in ({}, WHOLE):
        counts = np.full((64, 64), 6400 // BK, np.float32)
        out = device.to(counts)
        gemm[(1, 1)](
            device.to(a), device.to(b), out, 64, 64, 0, 6400, way, B, BK,
            num_stages=3, num_warps=4, **options,
        )  # fmt: skip
        results.append(device.numpy(out))
        check_gemm(results[-1], a, b)
    np.testing.assert_array_equal(*results)
