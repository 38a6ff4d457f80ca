"""Dots of fp64: on tensor cores, exact for whole numbers, else to 1e-15 of the terms' size."""

import functools
import re

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.backends.compiler import GPUTarget
from test_dot_types import run

TENSOR_CORES = [(80, "m8n8k4"), (90, "m16n8k16"), (100, "m16n8k16")]
SCALAR = [86, 89, 103, 120]


def whole(shape, seed):
    """Numbers whose products and their sums are exact."""
    return np.random.default_rng(seed).integers(-(2**20), 2**20, shape).astype(np.float64)


def whole_product(a, b):
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float64)


def check(result, a, b, acc=0.0):
    a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    error = np.abs(result - (a @ b + acc))
    size = np.abs(a) @ np.abs(b) + np.abs(acc)
    assert (error <= 1e-15 * size).all(), f"{(error / size).max()}"


SHAPES = [(64, 64, 64), (16, 16, 16), (8, 8, 16), (128, 32, 32), (32, 128, 16), (1, 1, 16)]
SHAPES += [(4, 16, 32), (16, 4, 32), (8, 64, 16), (64, 1, 16), (2, 2, 64)]


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("b_transposed", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_shapes(device, shape, b_transposed, warps):
    """Whole numbers are exact, and others right to 1e-15 of the terms' size."""
    M, N, K = shape
    a, b, acc = whole((M, K), 1), whole((K, N), 2), whole((M, N), 3)
    result = run(device, a, b, "fp64", acc, b_transposed, warps=warps)
    np.testing.assert_array_equal(result, whole_product(a, b) + acc)
    a, b, acc = (random(x.shape, "fp64", i) for i, x in enumerate((a, b, acc)))
    check(run(device, a, b, "fp64", acc, b_transposed, warps=warps), a, b, acc)


@triton.jit
def gemm_kernel(
    c_ptr, a_ptr, b_ptr, M, N, K, am, ak, bk, bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float64)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        left = depth + k
        a_mask = (rows < M)[:, None] & (left < K)[None, :]
        b_mask = (left < K)[:, None] & (columns < N)[None, :]
        a = tl.load(a_ptr + rows[:, None] * am + left[None, :] * ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + left[:, None] * bk + columns[None, :] * bn, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


def gemm(device, a, b, order, *, block, stages, warps=4):
    """The GEMM in tiles of `block`; `order` has `t` for a matrix that is stored by columns."""
    (M, K), N = a.shape, b.shape[1]
    memory, strides = [], []
    for matrix, letter in zip((a, b), order, strict=True):
        stored = np.ascontiguousarray(matrix.T if letter == "t" else matrix)
        memory.append(device.to(stored))
        strides += [1, stored.shape[1]] if letter == "t" else [stored.shape[1], 1]
    out = device.output((M, N), "fp64")
    grid = (triton.cdiv(M, block[0]), triton.cdiv(N, block[1]))
    gemm_kernel[grid](out.array, *memory, M, N, K, *strides, *block, STAGES=stages, num_warps=warps)
    return out.numpy()


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("order", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("problem", [(64, 64, 128), (61, 50, 70), (130, 66, 34)], ids=str)
def test_gemm(device, problem, order, stages):
    """Sizes that fill the tiles, that leave edges and rows that are not aligned."""
    M, N, K = problem
    a, b = whole((M, K), 4), whole((K, N), 5)
    result = gemm(device, a, b, order, block=(32, 32, 16), stages=stages)
    np.testing.assert_array_equal(result, whole_product(a, b))


@pytest.mark.parametrize("order", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize(
    "block, warps", [((64, 64, 32), 4), ((128, 64, 16), 8), ((16, 128, 64), 2)]
)
def test_gemm_to_1e_15(device, block, warps, order):
    a, b = random((128, 96), "fp64", 6), random((96, 128), "fp64", 7)
    check(gemm(device, a, b, order, block=block, stages=2, warps=warps), a, b)


@triton.jit
def chain_kernel(out_ptr, second_ptr, a_ptr, b_ptr, N: tl.constexpr, LOOPS: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    acc = tl.dot(a, b)
    for i in range(LOOPS):
        acc = tl.dot(tl.trans(b), a, acc * 2.0)
    tl.store(out_ptr + at, acc)
    product = tl.dot(acc, b)
    tl.store(second_ptr + at, tl.dot(product + a, tl.trans(product)))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("n", [16, 32])
def test_chains(device, n, warps):
    """An accumulator that goes on, and results that are both operands of the next dot."""
    a, b = (np.random.default_rng(i).integers(-4, 5, (n, n)).astype(np.float64) for i in (8, 9))
    outs = [device.output((n, n), "fp64") for _ in range(2)]
    chain_kernel[(1,)](*(x.array for x in outs), device.to(a), device.to(b), n, 3, num_warps=warps)
    acc = a @ b
    for _ in range(3):
        acc = b.T @ a + acc * 2
    np.testing.assert_array_equal(outs[0].numpy(), acc)
    product = acc @ b
    np.testing.assert_array_equal(outs[1].numpy(), (product + a) @ product.T)


@triton.jit
def batch_kernel(
    out_ptr, a_ptr, b_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    TRANSPOSED: tl.constexpr,
):  # fmt: skip
    batch = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + batch * (M * K) + m[None, :, None] * K + k[None, None, :])
    if TRANSPOSED:
        b = tl.load(b_ptr + batch * (K * N) + n[None, :, None] * K + k[None, None, :])
        b = tl.permute(b, (0, 2, 1))
    else:
        b = tl.load(b_ptr + batch * (K * N) + k[None, :, None] * N + n[None, None, :])
    at = batch * (M * N) + m[None, :, None] * N + n[None, None, :]
    tl.store(out_ptr + at, tl.dot(a, b))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(4, 16, 32, 16), (2, 32, 8, 32), (1, 8, 16, 16)], ids=str)
def test_batches(device, shape, transposed):
    """A batch of dots of whole numbers is exact."""
    B, M, N, K = shape
    a, b = whole((B, M, K), 10), whole((B, K, N), 11)
    stored = np.ascontiguousarray(b.transpose(0, 2, 1)) if transposed else b
    out = device.output((B, M, N), "fp64")
    batch_kernel[(1,)](out.array, device.to(a), device.to(stored), *shape, transposed)
    np.testing.assert_array_equal(out.numpy(), whole_product(a, b))


@triton.jit
def descriptor_kernel(c_ptr, a_ptr, b_ptr, M, N, K, BLOCK: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    acc = tl.zeros((BLOCK, BLOCK), tl.float64)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc)


@pytest.mark.parametrize("problem", [(64, 64, 64), (72, 40, 50)], ids=str)
def test_descriptors(device, problem):
    """A GEMM over descriptors of fp64 is exact for whole numbers."""
    M, N, K = problem
    a, b = whole((M, K), 12), whole((K, N), 13)
    out = device.output((M, N), "fp64")
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    stored = np.ascontiguousarray(b.T)
    descriptor_kernel[grid](out.array, device.to(a), device.to(stored), M, N, K, 32, 16)
    np.testing.assert_array_equal(out.numpy(), whole_product(a, b))


@triton.jit
def epilogue_kernel(
    row_ptr, column_ptr, turned_ptr, sums_ptr, a_ptr, b_ptr, n, M: tl.constexpr, N: tl.constexpr
):
    m, k = tl.arange(0, M), tl.arange(0, 16)
    columns = tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float64)
    for start in range(0, n, 16):
        a = tl.load(a_ptr + m[:, None] * n + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + columns[None, :])
        acc = tl.dot(a, b, acc)
        acc += tl.sum(a, 1)[:, None]
    tl.store(row_ptr + m, tl.sum(acc, 1))
    tl.store(column_ptr + columns, tl.max(acc, 0))
    tl.store(turned_ptr + columns[:, None] * M + m[None, :], tl.trans(acc))
    tl.atomic_add(sums_ptr + m[:, None] * N + columns[None, :], tl.cumsum(acc, 1))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("shape", [(32, 64), (64, 16), (8, 128)], ids=str)
def test_accumulators_are_used_in_every_way(device, shape, warps):
    """Lanes hold rows in another order than those of other types."""
    M, N, K = *shape, 48
    a, b = (np.random.default_rng(i).integers(-99, 99, s) for i, s in ((16, (M, K)), (17, (K, N))))
    shapes = [(M,), (N,), (N, M)]
    outs = [device.output(x, "fp64") for x in shapes]
    sums = device.to(np.zeros((M, N)))
    memory = [device.to(x.astype(np.float64)) for x in (a, b)]
    epilogue_kernel[(1,)](*(x.array for x in outs), sums, *memory, K, M, N, num_warps=warps)
    acc = a @ b + a.sum(1)[:, None]
    expected = (acc.sum(1), acc.max(0), acc.T)
    for out, numbers in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out.numpy(), numbers)
    np.testing.assert_array_equal(device.numpy(sums), acc.cumsum(1))


def test_infinities_and_nan(device):
    """An fp64 dot gives infinities and NaN where NumPy does."""
    a, b = random((16, 32), "fp64", 14), random((32, 16), "fp64", 15)
    a[3, 5], a[4, 6], b[7, 2] = np.inf, -np.inf, np.nan
    result, exact = run(device, a, b, "fp64"), a @ b
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    np.testing.assert_array_equal(np.isposinf(result), np.isposinf(exact))
    np.testing.assert_array_equal(np.isneginf(result), np.isneginf(exact))


@functools.cache
def compiled(arch, block, stop_after="ptx"):
    types = dict.fromkeys(("c_ptr", "a_ptr", "b_ptr"), "*fp64")
    types |= dict.fromkeys(("M", "N", "K", "am", "bk"), "i32")
    constants = {"ak": 1, "bn": 1} | dict(zip(("BM", "BN", "BK"), block, strict=True))
    constants["STAGES"] = 2
    types |= dict.fromkeys(constants, "constexpr")
    names = gemm_kernel.arg_names
    attrs = {
        (names.index(name),): [["tt.divisibility", 16]] for name in types if name not in constants
    }
    values = {(names.index(name),): value for name, value in constants.items()}
    source = triton.compiler.ASTSource(gemm_kernel, types, values, attrs)
    return triton.compile(source, GPUTarget("cuda", arch, 32), {"num_warps": 4})


@pytest.mark.parametrize("arch, shape", TENSOR_CORES)
def test_tensor_cores(arch, shape):
    kernel = compiled(arch, (64, 64, 16))
    (remark,) = [r for r in kernel.remarks if r.technique == "tensor cores"]
    assert remark.kind == "applied" and f"mma.sync {shape}," in remark.message
    ptx = kernel.asm["ptx"]
    used = set(re.findall(r"mma\.sync\.aligned\.(\w+)\.row\.col\.f64", ptx))
    assert used == {shape}
    assert "fma.rn.f64" not in ptx


@pytest.mark.parametrize("arch", SCALAR)
def test_scalar_where_tensor_cores_are_no_faster(arch):
    kernel = compiled(arch, (64, 64, 16))
    (remark,) = [r for r in kernel.remarks if r.technique == "tensor cores"]
    assert remark.kind == "missed" and "no faster" in remark.message
    assert "mma.sync" not in kernel.asm["ptx"]
