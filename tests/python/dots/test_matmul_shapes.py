"""GEMMs of random shapes, strides, orders and types: what tensor maps, persistent CTAs and edges must get right."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, check_gemm

BLOCKS = [
    (128, 128, 32, 4, 4),
    (128, 128, 64, 3, 8),
    (64, 128, 64, 3, 4),
    (128, 64, 32, 4, 4),
    (64, 64, 32, 3, 4),
    (64, 256, 32, 3, 8),
]
CASES = 200
PER_TEST = 20


@triton.jit
def matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    WRAPS: tl.constexpr,
    PLANE: tl.constexpr,
):
    """C = A B: edges wrap around or are masked; the programs lie in a line or in a plane."""
    if PLANE:
        m, n = tl.program_id(1), tl.program_id(0)
    else:
        columns = tl.cdiv(N, BLOCK_N)
        m, n = tl.program_id(0) // columns, tl.program_id(0) % columns
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = n * BLOCK_N + tl.arange(0, BLOCK_N)
    deep = tl.arange(0, BLOCK_K)
    a_rows = rows % M if WRAPS else rows
    b_cols = cols % N if WRAPS else cols
    a_ptrs = a_ptr + a_rows[:, None] * stride_am + deep[None, :] * stride_ak
    b_ptrs = b_ptr + deep[:, None] * stride_bk + b_cols[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        if WRAPS:
            a = tl.load(a_ptrs, mask=deep[None, :] < left, other=0.0)
            b = tl.load(b_ptrs, mask=deep[:, None] < left, other=0.0)
        else:
            a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (deep[None, :] < left), other=0.0)
            b = tl.load(b_ptrs, mask=(deep[:, None] < left) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def extent(rng, most):
    """A length: often a multiple of 16 or 8, sometimes anything."""
    step = rng.choice([16, 16, 8, 1])
    return int(rng.integers(1, max(most // step, 2)) * step)


def matrix(rng, device, rows, columns, dtype):
    """The values, and a view of an array of the device that holds them: row- or column-major, with a pitch, at an offset."""
    turned = rng.random() < 0.4
    height, width = (columns, rows) if turned else (rows, columns)
    pitch = width + int(rng.choice([0, 0, 8, 16, 5]))
    start = int(rng.choice([0, 0, 0, min(8, pitch - width)]))
    whole = rng.standard_normal((height, pitch + 8)).astype(DTYPES[dtype])
    view = device.to(whole)[:, start : start + width]
    values = whole[:, start : start + width]
    return (values.T, view.T) if turned else (values, view)


def run_case(device, number, many):
    """One GEMM, compared with float64."""
    rng = np.random.default_rng([20, number])
    dtype = str(rng.choice(["fp16", "bf16"]))
    result = str(rng.choice([dtype, dtype, "fp32"]))
    block_m, block_n, block_k, stages, warps = BLOCKS[number % len(BLOCKS)]
    # On a GPU, small tiles of a large matrix are more programs than CTAs run at once.
    most = 1400 if many and rng.random() < 0.5 else 300
    M, N, K = extent(rng, most), extent(rng, most), extent(rng, 260)
    a, da = matrix(rng, device, M, K, dtype)
    b, db = matrix(rng, device, K, N, dtype)
    out = device.output((M, N), result)
    plane = bool(rng.random() < 0.5)
    rows, columns = triton.cdiv(M, block_m), triton.cdiv(N, block_n)
    matmul[(columns, rows) if plane else (rows * columns,)](
        da,
        db,
        out.array,
        M,
        N,
        K,
        *device.strides(da),
        *device.strides(db),
        *device.strides(out.array),
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        WRAPS=bool(rng.random() < 0.5),
        PLANE=plane,
        num_stages=stages,
        num_warps=warps,
    )
    check_gemm(out.numpy(), a, b)


def launch(device, da, db, c, block, **options):
    """C = A B over a plane of programs, in place of `c`."""
    block_m, block_n, block_k, stages, warps = block
    (M, K), N = da.shape, db.shape[1]
    return matmul[(triton.cdiv(N, block_n), triton.cdiv(M, block_m))](
        da,
        db,
        c,
        M,
        N,
        K,
        *device.strides(da),
        *device.strides(db),
        *device.strides(c),
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        WRAPS=False,
        PLANE=True,
        num_stages=stages,
        num_warps=warps,
        **options,
    )


@pytest.mark.parametrize("first", range(0, CASES, PER_TEST))
def test_random_gemms(device, first):
    for number in range(first, first + (PER_TEST if device.on_gpu else 3)):
        run_case(device, number, many=device.on_gpu)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_more_programs_than_ctas(gpu, number):
    """A thousand tiles and more, deep and shallow, so that every CTA runs several programs."""
    block_m, block_n, block_k, _, _ = BLOCKS[number]
    rng = np.random.default_rng(number)
    for depth in (block_k, 5 * block_k, 16):
        M, N = 33 * block_m - 8, 35 * block_n - 16
        a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((M, depth), (depth, N)))
        da, db, out = gpu.to(a), gpu.to(b), gpu.output((M, N), "fp16")
        kernel = launch(gpu, da, db, out.array, BLOCKS[number])
        assert kernel.metadata.persistent
        check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("option", ["launch_cooperative_grid", "launch_pdl"])
def test_launches_that_do_not_persist(device, monkeypatch, option):
    """Programs that run at once, or start early, have a CTA each."""
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "6")
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((256, 128), (128, 384)))
    out = device.output((256, 384), "fp16")
    launch(device, device.to(a), device.to(b), out.array, BLOCKS[0], **{option: True})
    check_gemm(out.numpy(), a, b)


def test_graph_replays(gpu):
    """A captured launch of persistent CTAs reads the operands again at each replay."""
    torch = gpu.torch
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal((1024, 1024)).astype(np.float16) for _ in range(2))
    da, db, out = gpu.to(a), gpu.to(b), gpu.output((1024, 1024), "fp16")
    assert launch(gpu, da, db, out.array, BLOCKS[4]).metadata.persistent
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(gpu, da, db, out.array, BLOCKS[4])
    da.copy_(gpu.to(b))
    db.copy_(gpu.to(a))
    out.array.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    check_gemm(out.numpy(), b, a)
