"""GEMMs in grouped order: autotuned, persistent, over descriptors, and many problems at once.

A persistent program takes every `num_programs`-th tile. The grouped GEMM loops over a list of
problems of different sizes whose addresses it reads from memory. Half results within 1e-3, int8
dots exact before their scales.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import check_gemm, random
from pantile.tools.tensor_descriptor import TensorDescriptor


def _configs():
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 32, "GROUP_M": g}, num_warps=w)
        for m, n, g, w in ((32, 64, 8, 4), (64, 32, 2, 2))
    ]


def _prune(configs, named_args, **kwargs):
    small = [c for c in configs if c.kwargs["BLOCK_M"] <= named_args["M"]]
    return small or configs[:1]


@triton.jit
def grouped_tile(pid, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    width = GROUP_M * tiles_n
    first_m = pid // width * GROUP_M
    rows = tl.minimum(tiles_m - first_m, GROUP_M)
    return first_m + (pid % width) % rows, (pid % width) // rows


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def relu_squared(x):
    x = tl.maximum(x, 0.0)
    return x * x


@triton.autotune(_configs(), key=["M", "N", "K"], prune_configs_by={"early_config_prune": _prune})
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit
def linear_kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    stride_cm, stride_cn, ACTIVATION: tl.constexpr, HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr,
):  # fmt: skip
    """`ACTIVATION` is a jit function or None."""
    pid_m, pid_n = grouped_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_m % M)[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + (offs_n % N)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        if EVEN_K:
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if HAS_BIAS:
        acc += tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)[None, :]
    if ACTIVATION is not None:
        acc = ACTIVATION(acc)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def persistent_kernel(
    a_ptr, b_ptr, c_ptr, row_scale_ptr, column_scale_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    INTEGER: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    sums: tl.constexpr = tl.int32 if INTEGER else tl.float32
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=FLATTEN):
        pid_m, pid_n = grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        row = tl.where(offs_m < M, offs_m, 0)
        column = tl.where(offs_n < N, offs_n, 0)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=sums)
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K + offs_k
            a_ptrs = a_ptr + row[:, None] * stride_am + k[None, :] * stride_ak
            b_ptrs = b_ptr + k[:, None] * stride_bk + column[None, :] * stride_bn
            a = tl.load(a_ptrs, mask=k[None, :] < K, other=0)
            b = tl.load(b_ptrs, mask=k[:, None] < K, other=0)
            acc = tl.dot(a, b, acc, out_dtype=sums)
        mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
        c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
        if INTEGER:
            rows = tl.load(row_scale_ptr + offs_m, mask=offs_m < M, other=0.0)
            columns = tl.load(column_scale_ptr + offs_n, mask=offs_n < N, other=0.0)
            result = acc.to(tl.float32) * rows[:, None] * columns[None, :]
        else:
            result = acc
        tl.store(c_ptrs, result.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def persistent_descriptor_kernel(
    a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, PROGRAMS: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """`b` is (N, K). With `SPLIT` the result leaves in two halves, which need less memory."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS):
        pid_m, pid_n = grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([pid_m * BLOCK_M, step * BLOCK_K])
            b = b_desc.load([pid_n * BLOCK_N, step * BLOCK_K])
            acc = tl.dot(a, b.T, acc)
        if SPLIT:
            halves = tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], left.to(c_desc.dtype))
            at = pid_n * BLOCK_N + BLOCK_N // 2
            c_desc.store([pid_m * BLOCK_M, at], right.to(c_desc.dtype))
        else:
            c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c_desc.dtype))


@triton.jit
def grouped_problems_kernel(
    a_addresses, b_addresses, c_addresses, sizes_ptr, leading_ptr, problems,
    DTYPE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    done = 0
    for problem in range(problems):
        m = tl.load(sizes_ptr + problem * 3)
        n = tl.load(sizes_ptr + problem * 3 + 1)
        k = tl.load(sizes_ptr + problem * 3 + 2)
        tiles_n = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(m, BLOCK_M) * tiles_n
        while tile >= done and tile < done + tiles:
            lda = tl.load(leading_ptr + problem * 3)
            ldb = tl.load(leading_ptr + problem * 3 + 1)
            ldc = tl.load(leading_ptr + problem * 3 + 2)
            a_ptr = tl.load(a_addresses + problem).to(tl.pointer_type(DTYPE))
            b_ptr = tl.load(b_addresses + problem).to(tl.pointer_type(DTYPE))
            c_ptr = tl.load(c_addresses + problem).to(tl.pointer_type(DTYPE))
            within = tile - done
            offs_m = within // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_n = within % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for start in range(0, k, BLOCK_K):
                kk = start + tl.arange(0, BLOCK_K)
                a_mask = (offs_m < m)[:, None] & (kk < k)[None, :]
                b_mask = (kk < k)[:, None] & (offs_n < n)[None, :]
                a = tl.load(a_ptr + offs_m[:, None] * lda + kk[None, :], mask=a_mask, other=0.0)
                b = tl.load(b_ptr + kk[:, None] * ldb + offs_n[None, :], mask=b_mask, other=0.0)
                acc += tl.dot(a, b)
            c_ptrs = c_ptr + offs_m[:, None] * ldc + offs_n[None, :]
            tl.store(c_ptrs, acc.to(DTYPE), mask=(offs_m < m)[:, None] & (offs_n < n)[None, :])
            tile += tl.num_programs(0)
        done += tiles


def _erf(x):
    import math

    return np.vectorize(math.erf)(x)


ACTIVATIONS = {
    "none": (None, lambda x: x),
    "gelu": (gelu, lambda x: 0.5 * x * (1 + _erf(x / np.sqrt(2)))),
    "relu_squared": (relu_squared, lambda x: np.maximum(x, 0) ** 2),
}


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("dtype, shape", [("fp16", (70, 96, 64)), ("bf16", (129, 33, 75))])
def test_linear(device, dtype, shape, activation):
    """A linear layer with a bias and an activation agrees with float64."""
    M, N, K = shape
    a, b = (
        random((M, K), dtype, 1),
        (random((N, K), dtype, 2) * np.float32(0.1)).astype(random((1,), dtype).dtype),
    )
    bias = random(N, dtype, 3)
    da, db, out = device.to(a), device.to(b).T, device.output((M, N), dtype)
    function, reference = ACTIVATIONS[activation]
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    linear_kernel[grid](
        da, db, device.to(bias), out.array, M, N, K, *device.strides(da), *device.strides(db),
        N, 1, ACTIVATION=function, HAS_BIAS=activation != "none",
    )  # fmt: skip
    wide = a.astype(np.float64) @ b.astype(np.float64).T
    wide = reference(wide + bias.astype(np.float64) if activation != "none" else wide)
    relative = 1e-3 if dtype == "fp16" else 2.0**-8
    assert (np.abs(out.numpy().astype(np.float64) - wide) <= relative * np.abs(wide) + 3e-3).all()


@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("dtype", ["fp16", "i8"])
@pytest.mark.parametrize("shape, programs", [((100, 90, 80), 5), ((33, 65, 130), 64)])
def test_persistent(device, shape, programs, dtype, flatten):
    """A persistent GEMM with scales of rows and columns fills every tile."""
    M, N, K = shape
    a, b = random((M, K), dtype, 4), random((K, N), dtype, 5)
    rows = random(M, "fp32", 6)
    columns = np.abs(random(N, "fp32", 7))
    out = device.output((M, N), "fp32" if dtype == "i8" else "fp16")
    persistent_kernel[(programs,)](
        *map(device.to, (a, b)), out.array, *map(device.to, (rows, columns)), M, N, K, K, 1, N, 1,
        N, 1, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=2, INTEGER=dtype == "i8", FLATTEN=flatten,
    )  # fmt: skip
    if dtype == "fp16":
        check_gemm(out.numpy(), a, b)
    else:
        wide = (a.astype(np.float64) @ b) * rows[:, None] * columns
        np.testing.assert_allclose(out.numpy(), wide, rtol=1e-6)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("M, N, K", [(128, 128, 64), (100, 72, 88)])
def test_persistent_descriptors(device, M, N, K, split):
    a, b = random((M, K), "fp16", 8), random((N, K), "fp16", 9)
    out = device.output((M, N), "fp16")
    block_n = 64
    a_desc = TensorDescriptor.from_tensor(device.to(a), [64, 32])
    b_desc = TensorDescriptor.from_tensor(device.to(b), [block_n, 32])
    c_desc = TensorDescriptor.from_tensor(out.array, [64, block_n // 2 if split else block_n])
    persistent_descriptor_kernel[(3,)](
        a_desc, b_desc, c_desc, M, N, K, BLOCK_M=64, BLOCK_N=block_n, BLOCK_K=32, GROUP_M=2,
        PROGRAMS=3, SPLIT=split,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b.T)


def _address(array):
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()


@pytest.mark.parametrize("programs", [1, 4, 50])
def test_grouped_problems(device, programs):
    sizes = [(40, 70, 64), (5, 33, 20), (64, 64, 96), (1, 1, 1)]
    lefts = [random((m, k), "fp16", 10 + i) for i, (m, n, k) in enumerate(sizes)]
    rights = [random((k, n), "fp16", 20 + i) for i, (m, n, k) in enumerate(sizes)]
    outs = [device.output((m, n), "fp16") for m, n, k in sizes]
    d_lefts, d_rights = list(map(device.to, lefts)), list(map(device.to, rights))
    addresses = [
        device.to(np.array([_address(x) for x in group], np.int64))
        for group in (d_lefts, d_rights, [out.array for out in outs])
    ]
    leading = np.array([(k, n, n) for m, n, k in sizes], np.int32)
    grouped_problems_kernel[(programs,)](
        *addresses, device.to(np.array(sizes, np.int32)), device.to(leading), len(sizes),
        DTYPE=tl.float16, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32,
    )  # fmt: skip
    for out, a, b in zip(outs, lefts, rights, strict=True):
        check_gemm(out.numpy(), a, b)
