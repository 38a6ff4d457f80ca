"""GEMMs that split the sum over K: split-K by atomics, by a second pass, and stream-K.

Stream-K (Osama et al., "Stream-K: work-centric parallel decomposition for dense GEMM") gives every
program the same number of steps, split wherever they fall; the program with a tile's first step waits for
the partial sums of the others. fp16 and bf16 operands within the rounding of the result.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import check_gemm, random


@triton.heuristics({"EVEN_K": lambda args: args["K"] % (args["BLOCK_K"] * args["SPLIT_K"]) == 0})
@triton.jit
def split_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    stride_cz, stride_cm, stride_cn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr, EVEN_K: tl.constexpr, ATOMIC: tl.constexpr,
):  # fmt: skip
    """With `ATOMIC` the parts meet in one result (zeros before), else each has its own plane."""
    pid, pid_z = tl.program_id(0), tl.program_id(1)
    grid_n = tl.cdiv(N, BLOCK_N)
    rm = (pid // grid_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = (pid % grid_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N)
    rk = pid_z * BLOCK_K + tl.arange(0, BLOCK_K)
    a = a_ptr + (ram[:, None] * stride_am + rk[None, :] * stride_ak)
    b = b_ptr + (rk[:, None] * stride_bk + rbn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        if EVEN_K:
            x, y = tl.load(a), tl.load(b)
        else:
            left = K - k * BLOCK_K * SPLIT_K
            x = tl.load(a, mask=rk[None, :] < left, other=0.0)
            y = tl.load(b, mask=rk[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BLOCK_K * SPLIT_K * stride_ak
        b += BLOCK_K * SPLIT_K * stride_bk
    c = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    if ATOMIC:
        tl.atomic_add(c, acc.to(c_ptr.dtype.element_ty), mask=mask, sem="relaxed")
    else:
        tl.store(c + pid_z * stride_cz, acc, mask=mask)


@triton.jit
def sum_parts_kernel(
    parts_ptr, bias_ptr, out_ptr, count, columns, PARTS: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for z in tl.static_range(PARTS):
        total += tl.load(parts_ptr + z * count + at, mask=mask, other=0.0)
    if bias_ptr is not None:
        total += tl.load(bias_ptr + at % columns, mask=mask, other=0.0)
    tl.store(out_ptr + at, total.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def multiply_steps(
    a_ptr, b_ptr, M, N, K, tile, first, last,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    grid_n = tl.cdiv(N, BLOCK_N)
    rm = tile // grid_n * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tile % grid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(first, last):
        rk = step * BLOCK_K + tl.arange(0, BLOCK_K)
        a_mask, b_mask = (
            (rm[:, None] < M) & (rk[None, :] < K),
            (rk[:, None] < K) & (rn[None, :] < N),
        )
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(a, b)
    return acc, rm, rn


@triton.jit
def stream_k_kernel(
    a_ptr, b_ptr, c_ptr, parts_ptr, flags_ptr, M, N, K, total_steps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A program hands on at most one tile's end (its first) and collects at most one (its last)."""
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    steps_a_tile = tl.cdiv(K, BLOCK_K)
    share = tl.cdiv(total_steps, programs)
    step = pid * share
    end = tl.minimum(step + share, total_steps)
    here = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    while step < end:
        tile = step // steps_a_tile
        tile_start = tile * steps_a_tile
        tile_end = tile_start + steps_a_tile
        stop = tl.minimum(end, tile_end)
        acc, rm, rn = multiply_steps(
            a_ptr, b_ptr, M, N, K, tile, step - tile_start, stop - tile_start,
            BLOCK_M, BLOCK_N, BLOCK_K,
        )  # fmt: skip
        if step == tile_start:
            other = pid + 1
            covered = stop
            while covered < tile_end:
                while tl.atomic_cas(flags_ptr + other, 1, 1) != 1:
                    pass
                acc += tl.load(parts_ptr + other * BLOCK_M * BLOCK_N + here, cache_modifier=".cg")
                covered += share
                other += 1
            c = c_ptr + rm[:, None] * N + rn[None, :]
            tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(rm < M)[:, None] & (rn < N)[None, :])
        else:
            tl.store(parts_ptr + pid * BLOCK_M * BLOCK_N + here, acc)
            tl.debug_barrier()
            tl.atomic_xchg(flags_ptr + pid, 1)
        step = stop


@triton.jit
def walked_parts_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, PARTS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A program adds the parts of its tile; loads of one may pass the relaxed sums of another."""
    steps = tl.cdiv(K, BLOCK_K)
    share = tl.cdiv(steps, PARTS)
    for part in range(PARTS):
        last = tl.minimum((part + 1) * share, steps)
        acc, rm, rn = multiply_steps(
            a_ptr, b_ptr, M, N, K, tl.program_id(0), part * share, last, BLOCK_M, BLOCK_N, BLOCK_K
        )
        mask = (rm < M)[:, None] & (rn < N)[None, :]
        tl.atomic_add(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=mask, sem="relaxed")


def split_k(device, a, b, c, shape, parts, atomic, strides, dtype_blocks=(32, 32, 32)):
    M, N, K = shape
    m, n, k = dtype_blocks
    da, db = device.to(a), device.to(b)
    split_k_kernel[(triton.cdiv(M, m) * triton.cdiv(N, n), parts)](
        da, db, c, M, N, K, *device.strides(da), *device.strides(db), *strides,
        BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, SPLIT_K=parts, ATOMIC=atomic,
    )  # fmt: skip


SHAPES = [(48, 80, 256), (33, 17, 500), (16, 64, 97)]


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_atomic(device, shape, parts):
    """Parts of K that are added by atomics make the whole GEMM."""
    M, N, K = shape
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    c = device.to(np.zeros((M, N), np.float32))
    split_k(device, a, b, c, shape, parts, True, (0, N, 1))
    check_gemm(device.numpy(c), a, b)


@pytest.mark.parametrize("shape", [(192, 128, 512), (200, 144, 480)], ids=str)
def test_walked_parts(device, shape):
    """A program adds several parts, one after the other."""
    M, N, K = shape
    a, b = random((M, K), "fp16", 10), random((K, N), "fp16", 11)
    c = device.to(np.zeros((M, N), np.float32))
    walked_parts_kernel[(triton.cdiv(M, 64) * triton.cdiv(N, 64),)](
        device.to(a), device.to(b), c, M, N, K, PARTS=3, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64,
        num_warps=4, num_stages=3,
    )  # fmt: skip
    check_gemm(device.numpy(c), a, b)


def test_atomic_into_half(device):
    M, N, K = 32, 64, 256
    a, b = random((M, K), "fp16", 3), random((K, N), "fp16", 4)
    c = device.to(np.zeros((M, N), np.float16))
    split_k(device, a, b, c, (M, N, K), 2, True, (0, N, 1))
    wide = a.astype(np.float64) @ b.astype(np.float64)
    limit = 2.0**-10 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(device.numpy(c) - wide) <= limit).all()


@pytest.mark.parametrize("dtype, bias", [("fp16", True), ("bf16", False), ("fp32", True)])
@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
def test_second_pass(device, shape, dtype, bias):
    M, N, K = shape
    parts = 3
    a, b = random((M, K), dtype, 5), random((K, N), dtype, 6)
    shift = random(N, "fp32", 7)
    planes, out = device.output((parts, M, N), "fp32"), device.output((M, N), "fp32")
    split_k(device, a, b, planes.array, shape, parts, False, (M * N, N, 1))
    sum_parts_kernel[(triton.cdiv(M * N, 256),)](
        planes.array,
        device.to(shift) if bias else None,
        out.array,
        M * N,
        N,
        PARTS=parts,
        BLOCK=256,
    )
    tf32 = 4e-3 * np.sqrt(K) if dtype == "fp32" else 0
    wide = a.astype(np.float64) @ b.astype(np.float64) + (shift if bias else 0)
    assert (np.abs(out.numpy() - wide) <= 1e-3 * np.abs(wide) + 1e-4 * np.sqrt(K) + tf32).all()


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("programs", [1, 3, 7])
def test_stream_k(device, programs, dtype):
    """A kernel that itself splits tiles over programs by K-iterations equals a GEMM."""
    M, N, K = (1000, 520, 800) if device.on_gpu else (70, 50, 200)
    m, n, k = 32, 32, 32
    a, b = random((M, K), dtype, 8), random((K, N), dtype, 9)
    steps = triton.cdiv(M, m) * triton.cdiv(N, n) * triton.cdiv(K, k)
    parts = device.output((programs, m, n), "fp32")
    flags = device.to(np.zeros(programs, np.int32))
    out = device.output((M, N), dtype)
    stream_k_kernel[(programs,)](
        device.to(a), device.to(b), out.array, parts.array, flags, M, N, K, steps,
        BLOCK_M=m, BLOCK_N=n, BLOCK_K=k,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b)
    if programs == 7:
        assert device.numpy(flags).any()
