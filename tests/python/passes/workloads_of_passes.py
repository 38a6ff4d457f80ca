"""Kernels that the passes change, each with its launch and its check: what test_without_each_pass.py runs.

Gives: `WORKLOADS`, functions of a device and of the options of a launch; `ON_A_GPU`,
       `ON_A_CPU` and `OVERLAPPING`, some of them. One that is told the
       PTX that ran before (`known`) raises `UnchangedError` where it would run again.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import test_carry_mmas
import test_computed_operands
import test_ctas_of_32_warps
import test_overlap_results
import test_packed_programs
import test_prefetched_loads
import test_reduce_by_mma
import test_spilled_rows
import test_staged_operands
from conftest import random
from test_attention import attention, attention_kernel, whole_blocks_kernel
from test_matmul_shapes import matmul
from test_overlap_iterations import gradients_kernel
from test_tma_reduce import add_products


class UnchangedError(Exception):
    """The code is what ran before."""


def start(kernel, grid, *args, known=None, **options):
    """Launch, unless the code is the PTX that is `known`."""
    if known is not None and kernel.warmup(*args, grid=grid, **options).asm["ptx"] == known:
        raise UnchangedError
    return kernel[grid](*args, **options)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def multiply(device, block, shape, **options):
    """Through tensor maps, in persistent CTAs."""
    (M, N, K), (stages, warps) = shape, block[3:]
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    out = device.output((M, N), "fp16")
    grid = (triton.cdiv(N, block[1]), triton.cdiv(M, block[0]))
    kernel = start(
        matmul, grid, device.to(a), device.to(b), out.array, M, N, K, K, 1, N, 1, N, 1, *block[:3],
        WRAPS=False, PLANE=True, num_stages=stages, num_warps=warps, **options,
    )  # fmt: skip
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=2e-3 * np.sqrt(K))
    return kernel


def small_gemm(device, **options):
    return multiply(device, (64, 64, 32, 4, 4), (272, 208, 144), **options)


def gemm_of_two_ctas(device, **options):
    return multiply(device, (64, 128, 64, 3, 4), (144, 272, 208), **options)


def gemm_of_four_warps(device, **options):
    return multiply(device, (128, 128, 32, 4, 4), (144, 272, 208), **options)


def large_gemm(device, **options):
    return multiply(device, (128, 256, 32, 3, 8), (128, 256, 96), **options)


def attend(device, kernel, length, blocks, causal, warps, head=64, stages=3, **options):
    q, k, v = (random((1, length, head), "fp16", seed) for seed in range(3))
    out = device.output(q.shape, "fp32")
    made = start(
        kernel, (triton.cdiv(length, blocks[0]), 1), *map(device.to, (q, k, v)), out.array, head**-0.5, length, head, *blocks, causal,
        num_warps=warps, num_stages=stages, **options,
    )  # fmt: skip
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, causal), atol=2e-3, rtol=2e-3)
    return made


def causal_attention(device, **options):
    return attend(device, attention_kernel, 200, (64, 32), True, 4, **options)


def whole_attention(device, **options):
    return attend(device, whole_blocks_kernel, 256, (64, 64), False, 4, **options)


def wide_attention(device, **options):
    return attend(device, whole_blocks_kernel, 256, (128, 64), False, 8, **options)


def deep_attention(device, **options):
    return attend(
        device, whole_blocks_kernel, 256, (64, 64), False, 4, head=128, stages=2, **options
    )


def attention_of_two_warp_groups(device, **options):
    return attend(
        device, whole_blocks_kernel, 256, (128, 128), False, 8, head=128, stages=2, **options
    )


def sums_of_rounded_dots(device, **options):
    """Row sums of the left operand of a dot, which was rounded."""
    x, y = random((128, 64), "i32", 18, -3, 4), random((3, 64, 64), "i32", 19, -3, 4)
    start_at = random((128,), "fp32", 20)
    total, other = device.output((128,), "fp32"), device.output((128,), "fp32")
    acc = device.output((128, 64), "fp32")
    kernel = start(
        test_reduce_by_mma.sums_kernel, (1,), *map(device.to, (x.astype(np.float16), y.astype(np.float16), start_at)),
        total.array, other.array, acc.array, 1, 3, 1e9, M=128, N=64, KIND="plain", num_warps=8, **options,
    )  # fmt: skip
    exact = test_reduce_by_mma.expected(x, y, start_at, 1e9, "fp16", "plain")
    np.testing.assert_allclose(total.numpy(), exact[0], rtol=1e-6, atol=1e-4)
    np.testing.assert_array_equal(acc.numpy(), exact[2])
    return kernel


def unpacked_weights(device, **options):
    """Of 4 bits, computed in the loop for mma.sync."""
    return weights_of_four_bits(device, 16, 2, **options)


def weights_for_wgmma(device, **options):
    """The same for warp groups: in registers of the transposed dot, and loaded by a producer."""
    return weights_of_four_bits(device, 64, 4, **options)


def weights_of_four_bits(device, R, warps, **options):
    C, K = 64, 384
    x, w = random((R, K), "fp16", 25), random((K // 2, C), "i8", 26, low=-128, high=128)
    out = device.output((R, C), "fp32")
    kernel = start(
        test_computed_operands.packed_kernel, (1, 1), device.to(x), device.to(w), device.to(x), out.array, R, C, K, 1, C,
        PER=2, HIGH_FIRST=False, SWAPPED=False, SCALED=False, MASKED=False, BLOCK_R=R, BLOCK_C=C, BLOCK_K=128,
        num_warps=warps, num_stages=4, **options,
    )  # fmt: skip
    exact = x.astype(np.float64) @ test_computed_operands.nibbles(w, high_first=False)
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=1e-4 * np.abs(exact).max())
    return kernel


@triton.jit
def gathered_kernel(a, b, table, out, K, N, B: tl.constexpr):
    at = tl.arange(0, B)
    rows = tl.load(table + at)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        x = tl.load(a + rows[:, None] * K + (k + at)[None, :])
        acc = tl.dot(x, tl.load(b + (k + at)[:, None] * N + at[None, :]), acc)
    tl.store(out + at[:, None] * N + at[None, :], acc)


def gathered_rows(device, **options):
    """TMA can load the right operand alone."""
    block, count = 64, 5
    a, b = random((block, count * block), "fp16", 27), random((count * block, block), "fp16", 28)
    table = np.random.default_rng(29).permutation(block).astype(np.int32)
    out = device.output((block, block), "fp32")
    kernel = start(
        gathered_kernel, (1,), *map(device.to, (a, b, table)), out.array, count * block, block, block,
        num_stages=3, **options,
    )  # fmt: skip
    exact = a.astype(np.float64)[table] @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-3, atol=2e-2)
    return kernel


@triton.jit
def paced_kernel(a, b, out, K, N, B: tl.constexpr):
    at = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    b_ptrs = b + (at // 2)[:, None] * N + at[None, :]
    for k in range(0, K, B):
        x = tl.load(a + at[:, None] * K + (k + at)[None, :])
        acc = tl.dot(x, tl.load(b_ptrs), acc)
        b_ptrs += B // 2 * N
    tl.store(out + at[:, None] * N + at[None, :], acc)


def rows_read_twice(device, **options):
    """Each row of the right operand counts for two, so its pointer has a pace of its own."""
    B, K = 64, 256
    a, b = random((B, K), "fp16", 31), random((K // 2, B), "fp16", 32)
    out = device.output((B, B), "fp32")
    arguments = (device.to(a), device.to(b), out.array, K, B, B)
    kernel = start(paced_kernel, (1,), *arguments, num_warps=4, num_stages=3, **options)
    exact = a.astype(np.float64) @ b.astype(np.float64).repeat(2, 0)
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-3, atol=2e-2)
    return kernel


def scaled_blocks(device, **options):
    """Each dot of a block of K is scaled before it is added; stages leave room for one CTA per SM."""
    M, N, depth, count = 64, 64, 128, 3
    a, b = random((M, count * depth), "fp16", 21), random((N, count * depth), "fp16", 22)
    rows, columns = random((count, M), "fp32", 23), random((count, N), "fp32", 24)
    out, peak = device.output((M, N), "fp32"), device.output((M,), "fp32")
    kernel = start(
        test_overlap_results.scaled_kernel, (1, 1), *map(device.to, (a, b, rows.T.copy(), columns)), out.array,
        peak.array, 0, count, N, count * depth, STEP=1, START=0, BIAS=0.5, BM=M, BN=N, BK=depth, USE="once",
        APART=count, num_warps=4, num_stages=6, **options,
    )  # fmt: skip
    exact = np.full((M, N), 0.5)
    for block in range(count):
        at = slice(block * depth, (block + 1) * depth)
        part = a[:, at].astype(np.float64) @ b[:, at].astype(np.float64).T
        exact += part * rows[block][:, None] * columns[block]
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=1e-3 * np.abs(exact).max())
    return kernel


@triton.jit
def half(acc, x, b, begin, end):
    at = tl.arange(0, 64)
    for k in range(begin, end, 64):
        y = tl.load(b + (k + at)[:, None] * 64 + at[None, :])
        acc += tl.maximum(tl.dot(x, y), 0.0)
    return acc


@triton.jit
def halves_kernel(a, b, out, middle, end):
    """Two loops multiply with one left operand."""
    at = tl.arange(0, 64)
    square = at[:, None] * 64 + at[None, :]
    x = tl.load(a + square)
    acc = half(tl.zeros((64, 64), tl.float32), x, b, 0, middle)
    tl.store(out + square, half(acc, x, b, middle, end))


def two_loops(device, **options):
    a, b = random((64, 64), "fp16", 10), random((320, 64), "fp16", 11)
    out = device.output((64, 64), "fp32")
    kernel = start(halves_kernel, (1,), device.to(a), device.to(b), out.array, 192, 320, **options)
    products = a.astype(np.float64) @ b.reshape(5, 64, 64).astype(np.float64)
    np.testing.assert_allclose(out.numpy(), np.maximum(products, 0).sum(0), rtol=1e-3, atol=1e-2)
    return kernel


@triton.jit
def ended_kernel(a, b, out, end, LEAVES: tl.constexpr):
    """A loop that its condition or, in the middle of the range, a `break` ends."""
    at = tl.arange(0, 64)
    square = at[:, None] * 64 + at[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    if LEAVES:
        for k in range(0, 2 * end, 64):
            if k >= end:
                break
            acc += tl.dot(tl.load(a + k * 64 + square), tl.load(b + k * 64 + square))
    else:
        k = 0
        while k < end:
            acc += tl.dot(tl.load(a + k * 64 + square), tl.load(b + k * 64 + square))
            k += 64
    tl.store(out + square, acc)


def multiply_until(device, leaves, **options):
    a, b = random((5, 64, 64), "fp16", 16), random((5, 64, 64), "fp16", 17)
    out = device.output((64, 64), "fp32")
    kernel = start(
        ended_kernel, (1,), device.to(a), device.to(b), out.array, 320, leaves, **options
    )
    expected = (a.astype(np.float64) @ b.astype(np.float64)).sum(0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=1e-2)
    return kernel


def gemm_in_while(device, **options):
    return multiply_until(device, False, **options)


def gemm_until_break(device, **options):
    return multiply_until(device, True, **options)


def find_gradients(device, keys, step, depth, warps, stages, **options):
    k, v, q, g = (random((rows, depth), "fp16", rows) / 4 for rows in (keys, keys, 320, 320))
    shift = random((320,), "fp32", 5)
    dk, dv = (device.output((keys, depth), "fp32") for _ in range(2))
    kernel = start(
        gradients_kernel, (1,), *map(device.to, (k, v, q, g, shift)), dk.array, dv.array, 0, 320,
        KEYS=keys, STEP=step, DEPTH=depth, num_warps=warps, num_stages=stages, **options,
    )  # fmt: skip
    k, v, q, g = (x.astype(np.float64) for x in (k, v, q, g))
    p = k @ q.T - shift
    for result, exact in ((dv, 2 + p @ g), (dk, 1 + (p * (v @ g.T)) @ q)):
        np.testing.assert_allclose(result.numpy(), exact, rtol=0, atol=3e-3 * np.abs(exact).max())
    return kernel


def gradients(device, **options):
    return find_gradients(device, 128, 32, 64, 8, 4, **options)


def deep_gradients(device, **options):
    return find_gradients(device, 64, 64, 128, 4, 2, **options)


def blend(device, **options):
    """Dots of bytes, each times another tile that is loaded."""
    steps, size = 4, 64
    a, bias = random((size, 32 * steps), "fp16", 12), random((steps, size, size), "fp16", 13)
    b, scale = random((32 * steps, size), "i8", 14), random((steps, size), "fp32", 15)
    sums, out = device.output((steps, size), "fp32"), device.output((size, size), "fp32")
    kernel = start(
        test_staged_operands.blend, (1,), *map(device.to, (a, b, bias, scale)), sums.array, out.array, size, size, 32 * steps,
        size, size, 32, **options,
    )  # fmt: skip
    total = np.zeros((size, size))
    for step in range(steps):
        at = slice(32 * step, 32 * step + 32)
        part = a[:, at].astype(np.float64) @ b[at].astype(np.float64) * bias[step] * scale[step]
        np.testing.assert_allclose(sums.numpy()[step], part.sum(1), rtol=1e-3, atol=1)
        total = total * scale[step][-1].astype(np.float64) + part
    np.testing.assert_allclose(out.numpy(), total, rtol=1e-3, atol=1)
    return kernel


def walk(device, **options):
    x, scale = random((9, 1000), "fp32", 6), random((9,), "fp32", 7)
    out = device.output(x.shape, "fp32")
    kernel = start(
        test_prefetched_loads.walk_kernel,
        (3,),
        out.array,
        device.to(x),
        device.to(scale),
        9,
        1000,
        BLOCK=1024,
        STAGES=3,
        **options,
    )
    np.testing.assert_allclose(out.numpy(), scale[:, None] * softmax(x), rtol=1e-5, atol=1e-8)
    return kernel


def softmax_of_row(device, columns, seed, **options):
    x = random((1, columns), "fp32", seed)
    out = device.output(x.shape, "fp32")
    kernel = start(
        test_spilled_rows.softmax_kernel, (1,), out.array, device.to(x), columns, BLOCK=columns,
        **options,
    )  # fmt: skip
    np.testing.assert_allclose(out.numpy(), softmax(x), rtol=1e-5, atol=1e-10)
    return kernel


def long_row(device, **options):
    return softmax_of_row(device, 65536, 8, num_warps=32, **options)


def row_of_several_blocks(device, **options):
    return softmax_of_row(device, 131072, 11, num_warps=16, **options)


def long_narrow_row(device, **options):
    x = random((1, 65536), "bf16", 10)
    out, total = device.output(x.shape, "fp32"), device.output(1, "fp32")
    kernel = start(
        test_ctas_of_32_warps.log_sum_kernel,
        (1,),
        out.array,
        total.array,
        device.to(x),
        65536,
        65536,
        num_warps=32,
        **options,
    )
    wide = x.astype(np.float64)
    expected = np.log(np.exp(wide).sum(1))
    np.testing.assert_allclose(total.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(out.numpy(), wide * expected[:, None], rtol=1e-5, atol=1e-6)
    return kernel


def short_rows(device, **options):
    x = random((64, 100), "fp32", 9)
    out = device.output(x.shape, "fp32")
    kernel = start(
        test_packed_programs.softmax_kernel,
        (64,),
        out.array,
        device.to(x),
        100,
        BLOCK=128,
        num_warps=1,
        **options,
    )
    np.testing.assert_allclose(out.numpy(), softmax(x), rtol=1e-5, atol=1e-8)
    return kernel


def sums_of_products(device, **options):
    """Added to memory in a loop, by several programs."""
    a, b = random((3, 64, 64), "fp16", 1), random((128, 64), "fp16", 2)
    out = device.to(np.zeros((128, 64), np.float32))
    kernel = start(
        add_products, (3,), device.to(a), device.to(b), out, 128, 128, COLUMNS=64, M=64,
        MASKED=False, **options,
    )  # fmt: skip
    expected = b.astype(np.float64) @ a.astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-3, atol=2e-3)
    return kernel


def walk_with_sums(device, **options):
    """Sums go to memory while the last dot of an iteration runs."""
    a, b = random((128, 128), "fp16", 3) / 8, random((192, 128), "fp16", 4) / 8
    w, sums = random((192,), "fp32", 5), device.to(np.zeros((192, 128), np.float32))
    acc, total = (device.output((128, 128), "fp32") for _ in range(2))
    kernel = start(
        test_carry_mmas.walks_kernel, (1,), *map(device.to, (a, b, b, w)), sums, acc.array,
        total.array, 0, 64, 192, ROWS=128, STEP=64, DEPTH=128, MMAS=1, WEIGHTED=True, LOOPS=1,
        ROUNDS=1, num_warps=8, num_stages=2, **options,
    )  # fmt: skip
    a, b = a.astype(np.float64), b.astype(np.float64)
    p = a @ b.T * w
    for result, exact in ((device.numpy(sums), p.T @ a), (acc.numpy(), p @ b)):
        np.testing.assert_allclose(result, exact, rtol=0, atol=3e-3 * np.abs(exact).max())
    return kernel


WORKLOADS = [
    small_gemm,
    gemm_of_two_ctas,
    gemm_of_four_warps,
    large_gemm,
    causal_attention,
    whole_attention,
    wide_attention,
    deep_attention,
    attention_of_two_warp_groups,
    sums_of_rounded_dots,
    unpacked_weights,
    weights_for_wgmma,
    gathered_rows,
    rows_read_twice,
    scaled_blocks,
    two_loops,
    gemm_in_while,
    gemm_until_break,
    gradients,
    deep_gradients,
    sums_of_products,
    walk_with_sums,
    blend,
    walk,
    long_row,
    row_of_several_blocks,
    long_narrow_row,
    short_rows,
]
ON_A_GPU = [small_gemm, large_gemm, deep_attention, gradients]
ON_A_CPU = [small_gemm, walk]
# Of several MMAs that overlap.
OVERLAPPING = [
    causal_attention,
    whole_attention,
    deep_attention,
    gradients,
    deep_gradients,
    two_loops,
]
