"""GEMMs over tensor descriptors: made on the host or by the kernel, one tile per program or many.

B lies as (K, N) or as (N, K), A as (M, K) or (K, M). Batches are a third dimension, or rows of one
matrix whose last block hangs over; a split along K adds its parts in memory. Sizes are no multiples
of the blocks: descriptors clip them. fp16 and bf16 as `check_gemm` allows; fp8 against float64.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import check_gemm, random
from pantile.tools.tensor_descriptor import TensorDescriptor
from test_descriptor_attention import scratch


@triton.jit
def _describe(given, rows, columns, BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr):
    """The descriptor itself, or one of the row-major matrix that a pointer points to."""
    if isinstance(given, tl.tensor_descriptor):
        return given
    else:
        return tl.make_tensor_descriptor(
            given, [rows, columns], [columns, 1], [BLOCK_ROWS, BLOCK_COLUMNS]
        )


@triton.jit
def _left(desc, at_m, at_k, TURNED: tl.constexpr):
    return desc.load([at_k, at_m]).T if TURNED else desc.load([at_m, at_k])


@triton.jit
def _right(desc, at_k, at_n, TURNED: tl.constexpr):
    return desc.load([at_n, at_k]).T if TURNED else desc.load([at_k, at_n])


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, A_TURNED: tl.constexpr, B_TURNED: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    if A_TURNED:
        a_desc = _describe(a, K, M, BLOCK_K, BLOCK_M)
    else:
        a_desc = _describe(a, M, K, BLOCK_M, BLOCK_K)
    if B_TURNED:
        b_desc = _describe(b, N, K, BLOCK_N, BLOCK_K)
    else:
        b_desc = _describe(b, K, N, BLOCK_K, BLOCK_N)
    c_desc = _describe(c, M, N, BLOCK_M, BLOCK_N)
    at_m, at_n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for at_k in tl.range(0, K, BLOCK_K):
        left = _left(a_desc, at_m, at_k, A_TURNED)
        acc = tl.dot(left, _right(b_desc, at_k, at_n, B_TURNED), acc)
    c_desc.store([at_m, at_n], acc.to(c_desc.dtype))


@triton.jit
def persistent_kernel(
    a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    """`b` is (N, K). One tile's result leaves in `PARTS` pieces while the next tile is loaded."""
    WIDTH: tl.constexpr = BLOCK_N // PARTS
    a_desc = _describe(a, M, K, BLOCK_M, BLOCK_K)
    b_desc = _describe(b, N, K, BLOCK_N, BLOCK_K)
    c_desc = _describe(c, M, N, BLOCK_M, WIDTH)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        at_m, at_n = tile // tiles_n * BLOCK_M, tile % tiles_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for at_k in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([at_m, at_k]), b_desc.load([at_n, at_k]).T, acc)
        if PARTS == 1:
            c_desc.store([at_m, at_n], acc.to(c_desc.dtype))
        else:
            tl.static_assert(PARTS == 2)
            left, right = acc.reshape(BLOCK_M, 2, WIDTH).permute(0, 2, 1).split()
            c_desc.store([at_m, at_n], left.to(c_desc.dtype))
            c_desc.store([at_m, at_n + WIDTH], right.to(c_desc.dtype))


@triton.jit
def batched_kernel(
    a_desc, b_desc, c_ptr, N, K, stride_cb, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Descriptors of three dimensions, whose blocks are one deep."""
    batch = tl.program_id(2)
    at_m, at_n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    M = a_desc.shape[1]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for at_k in range(0, K, BLOCK_K):
        left = a_desc.load([batch, at_m, at_k]).reshape(BLOCK_M, BLOCK_K)
        right = b_desc.load([batch, at_k, at_n]).reshape(BLOCK_K, BLOCK_N)
        acc = tl.dot(left, right, acc)
    rows, columns = at_m + tl.arange(0, BLOCK_M), at_n + tl.arange(0, BLOCK_N)
    at = c_ptr + batch * stride_cb + rows[:, None] * stride_cm + columns[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(at, acc.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def split_kernel(
    a, b, c_desc, M, N, K, PARTS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Each program adds its part of K to a result that starts as zeros."""
    a_desc = _describe(a, M, K, BLOCK_M, BLOCK_K)
    b_desc = _describe(b, K, N, BLOCK_K, BLOCK_N)
    at_m, at_n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    steps = tl.cdiv(tl.cdiv(K, BLOCK_K), PARTS)
    first = tl.program_id(2) * steps * BLOCK_K
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(steps):
        at_k = first + step * BLOCK_K
        acc = tl.dot(a_desc.load([at_m, at_k]), b_desc.load([at_k, at_n]), acc)
    c_desc.atomic_add([at_m, at_n], acc)


def _given(device, array, made_on, block):
    if made_on == "host":
        return TensorDescriptor.from_tensor(array, block)
    triton.set_allocator(scratch(device))
    return array


@pytest.mark.parametrize("made_on", ["host", "device"])
@pytest.mark.parametrize("a_turned, b_turned", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("dtype, shape", [("fp16", (136, 72, 104)), ("bf16", (64, 200, 64))])
def test_orders_and_origins_of_descriptors(device, dtype, shape, a_turned, b_turned, made_on):
    """A GEMM is right with operands in both orders, and descriptors made on both sides."""
    (M, N, K), (block_m, block_n, block_k) = shape, (64, 64, 32)
    a, b = random((M, K), dtype, 1), random((K, N), dtype, 2)
    stored_a = np.ascontiguousarray(a.T if a_turned else a)
    stored_b = np.ascontiguousarray(b.T if b_turned else b)
    out = device.output((M, N), dtype)
    blocks = [(block_m, block_k), (block_k, block_n), (block_m, block_n)]
    blocks = [
        list(block[:: -1 if turned else 1])
        for block, turned in zip(blocks, (a_turned, b_turned, False), strict=True)
    ]
    arrays = [device.to(stored_a), device.to(stored_b), out.array]
    given = [_given(device, x, made_on, block) for x, block in zip(arrays, blocks, strict=True)]
    matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        *given, M, N, K, a_turned, b_turned, block_m, block_n, block_k, num_warps=4
    )
    check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("made_on", ["host", "device"])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("shape, programs", [((256, 128, 96), 3), ((70, 328, 40), 16)])
def test_persistent(device, shape, programs, parts, made_on):
    """A persistent GEMM fills every tile, with the epilogue in one part or in two."""
    (M, N, K), (block_m, block_n, block_k) = shape, (64, 128, 32)
    a, b = random((M, K), "fp16", 3), random((N, K), "fp16", 4)
    out = device.output((M, N), "fp16")
    persistent_kernel[(programs,)](
        _given(device, device.to(a), made_on, [block_m, block_k]),
        _given(device, device.to(b), made_on, [block_n, block_k]),
        _given(device, out.array, made_on, [block_m, block_n // parts]),
        M, N, K, block_m, block_n, block_k, PARTS=parts, num_warps=4,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b.T)


def test_batches(device):
    """Descriptors of rank 3 give the GEMM of each matrix of the batch."""
    batches, M, N, K = 3, 72, 40, 56
    a, b = random((batches, M, K), "fp16", 5), random((batches, K, N), "fp16", 6)
    out = device.output((batches, M, N), "fp32")
    batched_kernel[(2, 2, batches)](
        TensorDescriptor.from_tensor(device.to(a), [1, 64, 32]),
        TensorDescriptor.from_tensor(device.to(b), [1, 32, 32]),
        out.array, N, K, M * N, N, 64, 32, 32,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("made_on", ["host", "device"])
@pytest.mark.parametrize("parts", [1, 3])
def test_split(device, parts, made_on):
    """Parts of K that are added through a descriptor make the whole GEMM."""
    M, N, K = 80, 96, 200
    a, b = random((M, K), "fp16", 7), random((K, N), "fp16", 8)
    total = device.to(np.zeros((M, N), np.float32))
    split_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 32), parts)](
        _given(device, device.to(a), made_on, [64, 32]),
        _given(device, device.to(b), made_on, [32, 32]),
        TensorDescriptor.from_tensor(total, [64, 32]), M, N, K, parts, 64, 32, 32,
    )  # fmt: skip
    check_gemm(device.numpy(total), a, b)


def test_fp8(device):
    """Eight-bit operands, both along K."""
    M, N, K = 128, 64, 96
    a, b = random((M, K), "fp8e5", 9), random((N, K), "fp8e5", 10)
    out = device.output((M, N), "fp16")
    persistent_kernel[(2,)](
        TensorDescriptor.from_tensor(device.to(a), [64, 32]),
        TensorDescriptor.from_tensor(device.to(b), [64, 32]),
        TensorDescriptor.from_tensor(out.array, [64, 64]),
        M, N, K, 64, 64, 32, PARTS=1,
    )  # fmt: skip
    # Tensor cores of Hopper keep 13 bits of the accumulator of fp8 dots.
    wide = a.astype(np.float64) @ b.astype(np.float64).T
    largest = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T
    assert (np.abs(out.numpy() - wide) <= 1e-3 * np.abs(wide) + 2.0**-12 * largest).all()
