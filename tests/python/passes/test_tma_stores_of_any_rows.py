"""TMA stores in a branch: one kernel stores by TMA where rows begin and end on 16 bytes, and in elements elsewhere."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from matmul_kernels import masked_matmul

RAISED = {"enabled_passes": "nv-tma-stores"}
COPY = "d.global.shared::cta.bulk_group"
BLOCK = (64, 64, 32)


def region(device, rows, columns, pitch, dtype, turned):
    """A whole buffer, and the first `columns` of its rows of `pitch` elements, perhaps as columns."""
    height, width = (columns, rows) if turned else (rows, columns)
    whole = device.output((height + 1, pitch), dtype)
    view = whole.array[:height, :width]
    return whole, (view.T if turned else view)


def written(whole, rows, columns, turned):
    """The region's values; fails if anything around it was written."""
    values = whole.numpy()
    height, width = (columns, rows) if turned else (rows, columns)
    size = whole.dtype.itemsize
    edge = (len(whole.before) - values.size * size) // 2
    before = whole.before[edge : edge + values.size * size].reshape(*values.shape, size)
    same = (values.view(np.uint8).reshape(before.shape) == before).all(-1)
    same[:height, :width] = True
    assert same.all(), "written outside"
    result = values[:height, :width]
    return result.T if turned else result


def launch(device, a, b, out, block=BLOCK, **options):
    (M, K), N = a.shape, b.shape[1]
    return masked_matmul[(triton.cdiv(M, block[0]) * triton.cdiv(N, block[1]), 1)](
        a, b, out, M, N, K, 0, *device.strides(a), 0, *device.strides(b), 0, *device.strides(out),
        *block, num_stages=3, **{**RAISED, **options},
    )  # fmt: skip


def check_stores(device, kernel, branches):
    """That the kernel stores by TMA, and, with `branches`, in elements, too."""
    if device.arch == 90:
        ptx = kernel.asm["ptx"]
        assert COPY in ptx
        assert ("st.global" in ptx) == branches


# Columns of the result, and the elements that its rows are apart.
ROWS = [
    (104, 104),
    (104, 120),
    (101, 104),
    (101, 112),
    (101, 101),
    (100, 108),
    (72, 72),
    (7, 8),
    (5, 5),
]


@pytest.mark.parametrize("columns, pitch", ROWS)
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("turned", [False, True])
def test_rows_of_any_length(device, dtype, columns, pitch, turned):
    operands = "fp16" if dtype == "fp32" else dtype
    M, N = (columns, 88) if turned else (88, columns)
    a, b = random((M, 96), operands, columns), random((96, 128), operands, pitch)
    whole, out = region(device, M, N, pitch, dtype, turned)
    # The operands' own rows are multiples of 16 elements.
    kernel = launch(device, device.to(a), device.to(b)[:, :N], out)
    check_gemm(written(whole, M, N, turned), a, b[:, :N])
    check_stores(device, kernel, branches=True)


def test_one_kernel_for_rows_that_fit_and_others(device):
    """No launch compiles a second variant, and none is given the map of another."""
    a, b = random((88, 96), "fp16", 1), random((96, 128), "fp16", 2)
    da, db = device.to(a), device.to(b)
    hashes = set()
    for columns, pitch in [(104, 104), (101, 101), (104, 104), (104, 105), (100, 104), (120, 120)]:
        whole, out = region(device, 88, columns, pitch, "fp16", turned=False)
        kernel = launch(device, da, db[:, :columns], out)
        check_gemm(written(whole, 88, columns, turned=False), a, b[:, :columns])
        check_stores(device, kernel, branches=True)
        hashes.add(kernel.hash)
    assert len(hashes) == 1


def test_rows_known_to_fit_have_no_branch(device):
    a, b = random((88, 96), "fp16", 3), random((96, 112), "fp16", 4)
    whole, out = region(device, 88, 112, 112, "fp16", turned=False)
    kernel = launch(device, device.to(a), device.to(b), out)
    check_gemm(written(whole, 88, 112, turned=False), a, b)
    check_stores(device, kernel, branches=False)


@pytest.mark.parametrize("disabled", ["", "nv-make-persistent", "nv-specialise-warps"])
@pytest.mark.parametrize("enabled", ["nv-tma-stores", "nv-tma-stores,nv-stream-k"])
@pytest.mark.parametrize("columns", [264, 261])
def test_next_to_other_techniques(device, disabled, enabled, columns):
    """Tiles of 128x128, whose results go through more shared memory, in two to six programs."""
    M, K = 200, 296
    a, b = random((M, K), "fp16", 5), random((K, 272), "fp16", 6)
    whole, out = region(device, M, columns, columns, "fp16", turned=False)
    launch(
        device, device.to(a), device.to(b)[:, :columns], out, (128, 128, 64), num_warps=8,
        enabled_passes=enabled, disabled_passes=disabled,
    )  # fmt: skip
    check_gemm(written(whole, M, columns, turned=False), a, b[:, :columns])


@triton.jit
def two_results(
    a, b, sums, halves, N, K, stride_sums, packed, WIDE: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    """A·B, and half of it in rows of `packed // 2` elements."""
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    depth = tl.arange(0, B)
    if WIDE:
        m = m.to(tl.int64)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        x = tl.load(a + m[:, None] * K + (k + depth)[None, :])
        acc = tl.dot(x, tl.load(b + (k + depth)[:, None] * 128 + n[None, :]), acc)
    inside = (n < N)[None, :]
    tl.store(sums + m[:, None] * stride_sums + n[None, :], acc, inside)
    half = (0.5 * acc).to(tl.float16)
    tl.store(halves + m[:, None] * (packed // 2) + n[None, :], half, inside)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("strides", [(108, 240), (108, 210), (105, 240), (105, 210)], ids=str)
def test_results_of_different_rows(device, strides, wide):
    """Each store has a test of its own; quotients are tested as arguments are."""
    N, K = 104, 192
    a, b = random((128, K), "fp16", 7), random((K, 128), "fp16", 8)
    sums, out_sums = region(device, 128, N, strides[0], "fp32", turned=False)
    halves, out_halves = region(device, 128, N, strides[1] // 2, "fp16", turned=False)
    kernel = two_results[(2, 2)](
        device.to(a), device.to(b), out_sums, out_halves, N, K, *strides, wide, 64, **RAISED
    )
    b = b[:, :N]
    check_gemm(written(sums, 128, N, turned=False), a, b)
    check_gemm(2 * written(halves, 128, N, turned=False).astype(np.float64), a, b)
    check_stores(device, kernel, branches=True)


def test_more_programs_than_ctas(gpu):
    """Every CTA runs several programs, whose results go through the same scratch in either branch."""
    M, K = 33 * 128 - 8, 192
    a, b = random((M, K), "fp16", 9), random((K, 35 * 128), "fp16", 10)
    da, db = gpu.to(a), gpu.to(b)
    for columns in (34 * 128 + 8, 34 * 128 + 3):
        whole, out = region(gpu, M, columns, columns, "fp16", turned=False)
        kernel = launch(gpu, da, db[:, :columns], out, (128, 128, 64), num_warps=8)
        check_gemm(written(whole, M, columns, turned=False), a, b[:, :columns])
        check_stores(gpu, kernel, branches=True)
