"""TMA stores: edges, orders, types, batches, more programs than CTAs, arguments that no map describes.

On the CPU the same kernels run without them; on a GPU the kernels must have them.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import DTYPES, check_gemm, random
from matmul_kernels import masked_matmul
from test_matmul_shapes import matmul

RAISED = {"enabled_passes": "nv-tma-stores"}
COPY = "d.global.shared::cta.bulk_group"
BLOCKS = [
    (128, 256, 64, 3, 8),
    (128, 128, 64, 4, 4),
    (64, 128, 32, 4, 4),
    (64, 64, 32, 2, 4),
    (64, 32, 32, 3, 2),
    (32, 64, 32, 2, 1),
    (128, 64, 32, 3, 16),
]
SHAPES = [
    (128, 256, 64),
    (384, 512, 128),
    (130, 264, 72),
    (1, 8, 16),
    (127, 40, 8),
    (257, 1048, 40),
]


def framed(device, rows, columns, dtype, turned):
    """A whole buffer and a view into it whose rows (or columns) are multiples of 16 elements apart, with something all around."""
    height, width = (columns, rows) if turned else (rows, columns)
    pitch = -(-width // 16) * 16 + 16
    whole = device.output((height + 2, pitch), dtype)
    view = whole.array[1 : 1 + height, 8 : 8 + width]
    return whole, (view.T if turned else view)


def check_frame(whole, rows, columns, turned):
    """Fails if anything but the view was written; returns the view's values."""
    values = whole.numpy()
    height, width = (columns, rows) if turned else (rows, columns)
    inside = np.zeros(values.shape, bool)
    inside[1 : 1 + height, 8 : 8 + width] = True
    size = whole.dtype.itemsize
    edge = (len(whole.before) - values.size * size) // 2
    untouched = whole.before[edge : edge + values.size * size].view(whole.dtype)
    same = values.view(np.uint8) == untouched.reshape(values.shape).view(np.uint8)
    assert same.reshape(*values.shape, size).all(-1)[~inside].all(), "written outside"
    result = values[1 : 1 + height, 8 : 8 + width]
    return result.T if turned else result


def on_hopper(device):
    return device.arch == 90


def check_raised(device, kernel):
    if on_hopper(device):
        assert COPY in kernel.asm["ptx"]


def launch(device, a, b, out, block, **options):
    block_m, block_n, block_k, stages, warps = block
    (M, K), N = a.shape, b.shape[1]
    return matmul[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
        a, b, out, M, N, K, *device.strides(a), *device.strides(b), *device.strides(out),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, WRAPS=False, PLANE=False,
        num_stages=stages, num_warps=warps, **{**RAISED, **options},
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_gemms(device, block, shape):
    """TMA stores fill the result and nothing around it."""
    M, N, K = shape
    a, b = random((M, K), "fp16", M), random((K, N), "fp16", N)
    whole, out = framed(device, M, N, "fp16", turned=False)
    kernel = launch(device, device.to(a), device.to(b), out, block)
    check_gemm(check_frame(whole, M, N, turned=False), a, b)
    if M > 1:  # a length of 1 is a constant of the kernel
        check_raised(device, kernel)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("turned", [False, True])
def test_types_and_orders(device, dtype, turned):
    operands = "fp16" if dtype == "fp32" else dtype
    for seed, (M, N, K, block) in enumerate(
        [(200, 264, 96, BLOCKS[1]), (144, 96, 64, BLOCKS[0]), (72, 48, 32, BLOCKS[3])]
    ):
        a, b = random((M, K), operands, seed), random((K, N), operands, seed + 10)
        whole, out = framed(device, M, N, dtype, turned)
        kernel = launch(device, device.to(a), device.to(b), out, block)
        check_gemm(check_frame(whole, M, N, turned), a, b)
        check_raised(device, kernel)


@triton.jit
def integer_product(a, b, c, N, K, B: tl.constexpr):
    """C = A·B in tiles of B×B, exactly; A is M×K, B is K×N, of bytes."""
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    depth = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.int32)
    for k in range(0, K, B):
        x = tl.load(a + m[:, None] * K + (k + depth)[None, :])
        acc = tl.dot(x, tl.load(b + (k + depth)[:, None] * N + n[None, :]), acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@pytest.mark.parametrize("dtype", ["i16", "i32"])
@pytest.mark.parametrize("block", [64, 128])
def test_integers_are_stored_exactly(device, dtype, block):
    M, N, K = 128, 384, 256
    a, b = random((M, K), "i8", 1), random((K, N), "i8", 2)
    out = device.output((M, N), dtype)
    kernel = integer_product[(M // block, N // block)](
        device.to(a), device.to(b), out.array, N, K, block, **RAISED
    )
    exact = a.astype(np.int64) @ b.astype(np.int64)
    np.testing.assert_array_equal(out.numpy(), exact.astype(DTYPES[dtype]))
    check_raised(device, kernel)


@pytest.mark.parametrize("stages", [1, 3])
def test_a_batch(device, stages):
    """What is left of the address becomes a dimension of its own."""
    M, N, K, count = 100, 144, 80, 5
    a, b = random((count, M, K), "fp16", 1), random((count, K, N), "fp16", 2)
    da, db, out = device.to(a), device.to(b), device.output((count, M, N), "fp16")
    kernel = masked_matmul[(triton.cdiv(M, 64) * triton.cdiv(N, 64), count)](
        da, db, out.array, M, N, K, *device.strides(da), *device.strides(db),
        *device.strides(out.array), 64, 64, 32, num_warps=4, num_stages=stages, **RAISED,
    )  # fmt: skip
    result = out.numpy()
    for i in range(count):
        check_gemm(result[i], a[i], b[i])
    check_raised(device, kernel)


@pytest.mark.parametrize("passes", ["", "nv-make-persistent", "nv-specialise-warps", "wgmma"])
def test_with_other_techniques(device, passes):
    M, N, K = 264, 392, 200
    a, b = random((M, K), "fp16", 5), random((K, N), "fp16", 6)
    whole, out = framed(device, M, N, "fp16", turned=False)
    kernel = launch(device, device.to(a), device.to(b), out, BLOCKS[2], disabled_passes=passes)
    check_gemm(check_frame(whole, M, N, turned=False), a, b)
    if passes != "wgmma":  # whose warps have columns in between those of others
        check_raised(device, kernel)


@pytest.mark.parametrize("passes", ["", "third-cta"])
def test_where_it_pays(device, passes):
    """By default large results are stored by TMA, small ones are not."""
    M, N, K = 264, 400, 208
    a, b = random((M, K), "fp16", 16), random((K, N), "fp16", 17)
    for block, pays in [(BLOCKS[0], True), ((64, 128, 64, 7, 4), True), (BLOCKS[3], False)]:
        whole, out = framed(device, M, N, "fp16", turned=False)
        kernel = launch(device, device.to(a), device.to(b), out, block, enabled_passes=passes)
        check_gemm(check_frame(whole, M, N, turned=False), a, b)
        if on_hopper(device):
            assert (COPY in kernel.asm["ptx"]) == pays


def test_more_programs_than_ctas(gpu):
    """Every CTA runs several programs, whose results go through the same scratch."""
    for block in BLOCKS[:4]:
        M, N, K = 33 * block[0] - 8, 35 * block[1] - 16, 3 * block[2]
        a, b = random((M, K), "fp16", 7), random((K, N), "fp16", 8)
        whole, out = framed(gpu, M, N, "fp16", turned=False)
        kernel = launch(gpu, gpu.to(a), gpu.to(b), out, block)
        check_raised(gpu, kernel)
        check_gemm(check_frame(whole, M, N, turned=False), a, b)


@pytest.mark.parametrize("start, step", [(1, 1), (0, 3), (8, 2)])
def test_results_that_no_map_describes(device, start, step):
    """Off 16 bytes, or with gaps between columns."""
    M, N, K = 96, 72, 64
    a, b = random((M, K), "fp16", 9), random((K, N), "fp16", 10)
    whole = device.output((M, 3 * N + 40), "fp16")
    view = whole.array[:, start : start + N * step : step]
    launch(device, device.to(a), device.to(b), view, BLOCKS[3])
    check_gemm(whole.numpy()[:, start : start + N * step : step], a, b)


@pytest.mark.parametrize("dtype, columns", [("fp32", 106), ("fp16", 43), ("fp32", 1)])
def test_rows_that_end_within_16_bytes(device, dtype, columns):
    """TMA would write the rest of them too: the store's other branch runs."""
    a, b = random((96, 64), "fp16", 13), random((64, columns), "fp16", 14)
    whole, out = framed(device, 96, columns, dtype, turned=False)
    launch(device, device.to(a), device.to(b), out, BLOCKS[3])
    check_gemm(check_frame(whole, 96, columns, turned=False), a, b)


@triton.jit
def some_columns(a_ptr, b_ptr, out_ptr, K, COLUMNS: tl.constexpr):
    rows, columns, depth = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 32)
    acc = tl.zeros((64, 128), tl.float32)
    for k in range(0, K, 32):
        a = tl.load(a_ptr + rows[:, None] * K + (k + depth)[None, :])
        b = tl.load(b_ptr + (k + depth)[:, None] * 128 + columns[None, :])
        acc = tl.dot(a, b, acc)
    out = out_ptr + rows[:, None] * 128 + columns[None, :]
    tl.store(out, acc, mask=columns[None, :] < COLUMNS)


@pytest.mark.parametrize("columns, whole", [(106, False), (108, True)])
def test_constant_ends_of_rows(device, columns, whole):
    a, b = random((64, 96), "fp16", 15), random((96, 128), "fp16", 16)
    out = device.output((64, 128), "fp32")
    kernel = some_columns[(1,)](device.to(a), device.to(b), out.array, 96, columns, **RAISED)
    result = out.numpy()
    check_gemm(result[:, :columns], a, b[:, :columns])
    assert np.isnan(result[:, columns:]).all()
    if on_hopper(device):
        assert (COPY in kernel.asm["ptx"]) == whole


def test_no_rows(device):
    """Extents of zero are no map either: nothing is written."""
    a, b = random((16, 32), "fp16", 11), random((32, 64), "fp16", 12)
    out = device.output((64, 64), "fp16")
    da, db = device.to(a), device.to(b)
    matmul[(1,)](
        da, db, out.array, 0, 64, 32, *device.strides(da), *device.strides(db), 64, 1,
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, WRAPS=False, PLANE=False, **RAISED,
    )  # fmt: skip
    assert np.isnan(out.numpy().astype(np.float32)).all()


@triton.jit
def two_results(
    a_ptr, b_ptr, sum_ptr, low_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + depth
        a = tl.load(
            a_ptr + rows[:, None] * K + deep[None, :],
            mask=(rows < M)[:, None] & (deep < K)[None, :],
            other=0,
        )
        b = tl.load(
            b_ptr + deep[:, None] * N + columns[None, :],
            mask=(deep < K)[:, None] & (columns < N)[None, :],
            other=0,
        )
        acc = tl.dot(a, b, acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    at = rows[:, None] * N + columns[None, :]
    tl.store(sum_ptr + at, acc, mask=inside)
    tl.store(low_ptr + at, tl.minimum(acc, 0).to(tl.float16), mask=inside)


@pytest.mark.parametrize("warps", [4, 8])
def test_two_results(device, warps):
    """One store in fp32 and one in fp16, each through scratch of its own."""
    M, N, K = 168, 208, 112
    a, b = random((M, K), "fp16", 13), random((K, N), "fp16", 14)
    whole, low = device.output((M, N), "fp32"), device.output((M, N), "fp16")
    kernel = two_results[(triton.cdiv(M, 128), triton.cdiv(N, 64))](
        device.to(a), device.to(b), whole.array, low.array, M, N, K, 128, 64, 32,
        num_warps=warps, **RAISED,
    )  # fmt: skip
    check_gemm(whole.numpy(), a, b)
    check_gemm(low.numpy(), a, b, activation=lambda x: np.minimum(x, 0))
    if on_hopper(device):
        assert kernel.asm["mma"].count("nv.tma_store ") == 2


@triton.jit
def transposed_into(x_ptr, y_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    x = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside)
    tl.store(y_ptr + n[:, None] * rows + m[None, :], x.T, mask=inside.T)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "i32", "i16", "fp8e5", "i64"])
@pytest.mark.parametrize("warps", [1, 4])
def test_kernels_without_dots(device, dtype, warps):
    """Raised or not, as the layouts have it."""
    rows, columns = 104, 88
    values = (
        random((rows, columns), "fp32", 15).astype(DTYPES[dtype])
        if dtype.startswith("fp")
        else random((rows, columns), dtype, 15)
    )
    out = device.output((columns, rows), dtype)
    transposed_into[(2, 2)](
        device.to(values), out.array, rows, columns, 64, 64, num_warps=warps, **RAISED
    )
    assert (out.numpy().view(np.uint8) == np.ascontiguousarray(values.T).view(np.uint8)).all()
