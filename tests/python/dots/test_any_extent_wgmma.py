"""Dots of tiles of any extent on wgmma, by TMA and a producer: every element against NumPy, and the remarks."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random


@triton.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, B_ROWS: tl.constexpr, RELU: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """C = A B by plain pointers; B lies along K if `B_ROWS`, and is loaded as it lies."""
    columns = tl.cdiv(N, BLOCK_N)
    rows = tl.program_id(0) // columns * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) % columns * BLOCK_N + tl.arange(0, BLOCK_N)
    deep = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), ACC)
    for k in range(0, K, BLOCK_K):
        ks = k + deep
        a_mask = (rows[:, None] < M) & (ks[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * sam + ks[None, :] * sak, mask=a_mask, other=0)
        if B_ROWS:
            b_mask = (cols[:, None] < N) & (ks[None, :] < K)
            b = tl.trans(
                tl.load(b_ptr + cols[:, None] * sbn + ks[None, :] * sbk, mask=b_mask, other=0)
            )
        else:
            b_mask = (ks[:, None] < K) & (cols[None, :] < N)
            b = tl.load(b_ptr + ks[:, None] * sbk + cols[None, :] * sbn, mask=b_mask, other=0)
        acc = tl.dot(a, b, acc, out_dtype=ACC)
    if RELU:
        acc = tl.maximum(acc, 0)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(c_ptr.dtype.element_ty), mask=inside)


def along(array, order):
    """The same numbers, with the last dimension contiguous, or the first one."""
    return np.ascontiguousarray(array) if order == "r" else np.ascontiguousarray(array.T).T


def run(device, dtype, result, blocks, orders="rr", sizes=(400, 432, 224), **options):
    m, n, k = sizes
    block_m, block_n, block_k, num_warps, num_stages = blocks
    a = along(random((m, k), dtype, seed=31), orders[0])
    b = along(random((k, n), dtype, seed=32), orders[1])
    given_a, given_b = (
        device.to(np.ascontiguousarray(x if order == "r" else x.T))
        for x, order in ((a, orders[0]), (b, orders[1]))
    )
    out = device.output((m, n), result)
    steps = (k, 1) if orders[0] == "r" else (1, m)
    steps += (n, 1) if orders[1] == "r" else (1, k)
    acc = tl.int32 if dtype == "i8" else tl.float32
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    compiled = gemm_kernel[grid](
        given_a, given_b, out.array, m, n, k, *steps, orders[1] == "c", dtype == "fp16",
        block_m, block_n, block_k, acc, num_warps=num_warps, num_stages=num_stages, **options,
    )  # fmt: skip
    if dtype == "i8":
        np.testing.assert_array_equal(out.numpy(), a.astype(np.int64) @ b.astype(np.int64))
    else:
        relu = (lambda x: np.maximum(x, 0)) if dtype == "fp16" else None
        check_gemm(out.numpy(), a, b, relu)
    return compiled


def reaches(device, compiled, *lines):
    """On Hopper, the plan has each of these."""
    if device.arch == 90:
        for line in lines:
            assert line in compiled.plan, compiled.plan


# Tiles, and the instruction.
WHOLE = [
    ((192, 192, 64, 8, 3), "m64n96k16"),
    ((192, 96, 64, 8, 4), "m64n48k16"),
    ((192, 96, 64, 4, 4), "m64n96k16"),
    ((128, 176, 64, 8, 4), "m64n176k16"),
    ((64, 176, 32, 8, 3), "m64n88k16"),
    ((256, 80, 64, 8, 4), "m64n80k16"),
    ((128, 192, 96, 8, 3), "m64n192k16"),
    ((64, 320, 32, 4, 3), "m64n160k16"),
    ((320, 96, 32, 8, 3), "m64n48k16"),
    ((320, 64, 64, 4, 2), "m64n64k16"),
    ((64, 112, 48, 4, 4), "m64n112k16"),
    ((80, 128, 64, 8, 3), "m64n80k16"),  # the transposed dot
    ((112, 192, 32, 4, 3), "m64n112k16"),
]


@pytest.mark.parametrize("orders", ["rr", "rc", "cr"])
@pytest.mark.parametrize("blocks, instruction", WHOLE)
def test_gemm_reaches_wgmma_and_a_producer(device, blocks, instruction, orders):
    if blocks[:2] == (64, 176) and orders[1] == "r":
        instruction = "mma.sync"  # 88 columns of each warp group fill no swizzle
    compiled = run(device, "fp16", "fp16", blocks, orders)
    if instruction == "mma.sync":
        reaches(device, compiled, "mma.sync")
    else:
        reaches(device, compiled, f"wgmma {instruction}", "via tma", "producer: ")


# Columns that are a multiple of 8 alone.
@pytest.mark.parametrize("blocks", [(128, 88, 64, 4, 3), (128, 200, 64, 8, 3), (64, 24, 32, 4, 4)])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_columns_in_eights(device, blocks, dtype):
    compiled = run(device, dtype, "fp32", blocks, "rc")
    reaches(device, compiled, f"wgmma m64n{blocks[1]}k16", "via tma", "producer: ")


@pytest.mark.parametrize("orders", ["rr", "rc"])
@pytest.mark.parametrize("blocks", [(192, 96, 64, 8, 3), (192, 192, 64, 8, 3), (128, 48, 96, 4, 3)])
@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv", "bf16"])
def test_other_types(device, blocks, orders, dtype):
    """int8, fp8 and bf16 tiles of any extent run on wgmma."""
    compiled = run(device, dtype, "i32" if dtype == "i8" else "fp32", blocks, orders)
    reaches(device, compiled, "wgmma")


def run_tf32(device, blocks, orders):
    """fp32 goes to shared memory along K, to registers, or by a transposed dot. Small integers are exact."""
    m, n, k = 300, 400, 120
    block_m, block_n, block_k, num_warps, num_stages = blocks
    generator = np.random.default_rng(33)
    a, b = (generator.integers(-9, 9, s).astype(np.float32) for s in ((m, k), (k, n)))
    given = [np.ascontiguousarray(x if o == "r" else x.T) for x, o in zip((a, b), orders)]
    steps = (k, 1) if orders[0] == "r" else (1, m)
    steps += (n, 1) if orders[1] == "r" else (1, k)
    out = device.output((m, n), "fp32")
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    compiled = gemm_kernel[grid](
        *map(device.to, given), out.array, m, n, k, *steps, orders[1] == "c", False,
        block_m, block_n, block_k, tl.float32, num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    np.testing.assert_array_equal(out.numpy(), a @ b)
    return compiled


@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("blocks", [(192, 64, 32, 8, 3), (64, 96, 24, 4, 3), (128, 192, 48, 8, 2)])
def test_tf32(device, blocks, orders):
    """Dots of tf32 in all orders of operands agree with NumPy, and use wgmma."""
    compiled = run_tf32(device, blocks, orders)
    if orders == "rc":
        reaches(device, compiled, "wgmma")


@pytest.mark.parametrize("technique", ["wgmma", "nv-specialise-warps", "nv-make-persistent"])
@pytest.mark.parametrize("blocks", [(192, 192, 64, 8, 3), (320, 96, 32, 8, 3)])
def test_without_a_technique(device, blocks, technique):
    run(device, "fp16", "fp16", blocks, disabled_passes=technique)


@pytest.mark.parametrize(
    "blocks", [(192, 192, 64, 8, 3), (192, 96, 64, 8, 3), (128, 176, 64, 8, 3)]
)
def test_stream_k(device, blocks):
    """The pass splits GEMMs whose tiles have sides that are no powers of two, with a producer."""
    compiled = run(device, "fp16", "fp16", blocks, enabled_passes="nv-stream-k")
    reaches(device, compiled, "programs: stream-K", "producer: ")


@triton.jit
def two_uses_kernel(out_ptr, sums_ptr, a_ptr, b_ptr, K, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """The right operand is reduced, too, and is the left one of another dot."""
    rows, cols, deep = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    acc = tl.zeros((M, N), tl.float32)
    sums = tl.zeros((N,), tl.float32)
    for k in range(0, K, D):
        a = tl.load(a_ptr + rows[:, None] * K + (k + deep)[None, :])
        b = tl.load(b_ptr + (k + deep)[:, None] * N + cols[None, :])
        acc = tl.dot(a, b, acc)
        sums += tl.sum(b.to(tl.float32), 0)
    scaled = acc * 2.0 + sums[None, :]
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], scaled)
    tl.store(sums_ptr + rows, tl.sum(acc, 1))


@pytest.mark.parametrize("shape", [(192, 192, 32, 8), (192, 96, 64, 8), (64, 320, 32, 4)])
def test_other_uses_of_operands(device, shape):
    m, n, d, num_warps = shape
    k = 3 * d
    a, b = random((m, k), "fp16", seed=41), random((k, n), "fp16", seed=42)
    out, sums = device.output((m, n), "fp32"), device.output(m, "fp32")
    two_uses_kernel[(1,)](
        out.array, sums.array, device.to(a), device.to(b), k, m, n, d, num_warps=num_warps
    )
    a, b = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), a @ b * 2 + b.sum(0), rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(sums.numpy(), (a @ b).sum(1), rtol=1e-3, atol=0.2)


@triton.jit
def gradient_kernel(out_ptr, sum_ptr, q_ptr, k_ptr, g_ptr, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """P^T G and P^T Q of P = Q K^T, summed over tiles of rows: tiles that several dots read, transposed and not."""
    rows, cols, deep = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    k = tl.load(k_ptr + cols[:, None] * D + deep[None, :])
    out, turned = tl.zeros((N, D), tl.float32), tl.zeros((N, D), tl.float32)
    for start in range(0, length, M):
        at = (start + rows)[:, None]
        q = tl.load(q_ptr + at * D + deep[None, :], mask=at < length, other=0.0)
        g = tl.load(g_ptr + at * D + deep[None, :], mask=at < length, other=0.0)
        p = tl.dot(k, tl.trans(q)) * 0.125
        out = tl.dot(p.to(tl.float16), g, out)
        turned = tl.dot(tl.dot(k, tl.trans(g)).to(tl.float16), q, turned)
    tl.store(out_ptr + cols[:, None] * D + deep[None, :], out)
    tl.store(sum_ptr + cols[:, None] * D + deep[None, :], turned)


@pytest.mark.parametrize(
    "blocks",
    [
        (96, 192, 32, 8), (96, 64, 192, 8), (80, 128, 64, 8), (192, 64, 96, 8), (112, 64, 32, 4),
        (32, 192, 32, 4), (48, 64, 80, 4), (160, 64, 32, 4),
    ],
)  # fmt: skip
def test_chained_dots(device, blocks):
    """Gradients of attention, whose dots take results of others as operands, with tiles of any extent."""
    m, n, d, num_warps = blocks
    length = 2 * m + m // 2
    q, k, g = (random((rows, d), "fp16", seed=51 + rows % 7) for rows in (length, n, length))
    out, turned = device.output((n, d), "fp32"), device.output((n, d), "fp32")
    gradient_kernel[(1,)](
        out.array, turned.array, device.to(q), device.to(k), device.to(g), length, m, n, d,
        num_warps=num_warps, num_stages=2,
    )  # fmt: skip
    q, k, g = (x.astype(np.float64) for x in (q, k, g))
    for result, p, right in (
        (out, k @ q.T * 0.125, g),
        (turned, k @ g.T, q),
    ):
        allowed = 2e-3 * (np.abs(p) @ np.abs(right)) + 1e-3
        assert (np.abs(result.numpy() - p @ right) <= allowed).all()


@triton.jit
def rows_of_group_kernel(
    out_ptr, a_ptr, b_ptr, ends_ptr, K, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Rows up to where the group ends: a number of memory bounds the tile that is loaded and stored."""
    end = tl.load(ends_ptr)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    cols, deep = tl.arange(0, N), tl.arange(0, D)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, D):
        a = tl.load(
            a_ptr + rows[:, None] * K + (k + deep)[None, :], mask=rows[:, None] < end, other=0.0
        )
        b = tl.load(b_ptr + (k + deep)[:, None] * N + cols[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < end)


@pytest.mark.parametrize("end", [320, 577, 601, 640, 700, 960])
@pytest.mark.parametrize("options", [{}, {"enabled_passes": "nv-tma-stores"}])
def test_group_ends_within_a_tile_of_several_boxes(device, end, options):
    m, n, d, k = 320, 64, 32, 96
    a, b = random((960, k), "fp16", seed=51), random((k, n), "fp16", seed=52)
    out, ends = device.output((960, n), "fp32"), np.array([end], np.int32)
    before = out.numpy().copy()
    compiled = rows_of_group_kernel[(3,)](
        out.array, device.to(a), device.to(b), device.to(ends), k, m, n, d, num_warps=8, **options
    )  # fmt: skip
    reaches(device, compiled, "via tma", "producer: ")
    check_gemm(out.numpy()[:end], a[:end], b)
    np.testing.assert_array_equal(out.numpy()[end:], before[end:])
