"""Numbers of warps that are no powers of two, on every device, against NumPy: every element, random data."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from extent_checks import (
    CHANGES_OF_SHAPE,
    add_kernel,
    check_change_of_shape,
    check_masked_load,
    check_reduction,
    check_reduction_of_pairs,
    check_scan,
)

WARPS = [3, 5, 6, 7, 12, 20, 24, 31]
FEW = [3, 6, 7, 12]
LENGTHS = [1, 64, 96, 160, 1024, 1152, 1536]
SHAPES = [(48, 96), (96, 8), (7, 100), (64, 64), (192, 16), (3, 128)]


@pytest.mark.parametrize("num_warps", range(1, 33))
@pytest.mark.parametrize("length", [1536, 1000])
def test_every_number(device, length, num_warps):
    x, y = random(length, "fp16", seed=1), random(length, "fp16", seed=2)
    out = device.output(length, "fp16")
    compiled = add_kernel[(1,)](out.array, device.to(x), device.to(y), length, num_warps=num_warps)
    assert out.numpy().tobytes() == (x * np.float16(2) + y).tobytes()
    assert compiled.metadata.num_warps == num_warps


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_masked_load_of_several_programs(device, length, num_warps):
    """With any number of warps."""
    check_masked_load(device, length, num_warps)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_reduce(device, shape, axis, num_warps):
    """Sums, maxima and their places do not depend on the number of warps."""
    check_reduction(device, shape, axis, num_warps)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("length", LENGTHS)
def test_reduction_of_pairs(device, length, num_warps):
    """A function of two values reduces over any number of warps."""
    check_reduction_of_pairs(device, length, num_warps)


@triton.jit
def walk_kernel(out_ptr, steps_ptr, x_ptr, N: tl.constexpr):
    """Goes on while a sum over all warps says so: replicas must agree, or the warps part."""
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    steps = 0
    while tl.max(tl.cumsum(x, 0), 0) > 100:
        x = x // 2
        steps += 1
    tl.store(out_ptr + at, tl.sort(x))
    tl.store(steps_ptr, steps)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("length", [64, 256, 2048])
def test_loop_that_a_reduction_ends(device, length, num_warps):
    x = np.random.default_rng(7).integers(0, 1000, length, dtype=np.int32)
    out, steps = device.output(length, "i32"), device.output(1, "i32")
    walk_kernel[(1,)](out.array, steps.array, device.to(x), length, num_warps=num_warps)
    count = 0
    while x.cumsum().max() > 100:
        x, count = x // 2, count + 1
    np.testing.assert_array_equal(out.numpy(), np.sort(x))
    assert steps.numpy()[0] == count


@pytest.mark.parametrize("num_warps", FEW)
@pytest.mark.parametrize("op", CHANGES_OF_SHAPE)
@pytest.mark.parametrize("shape", [(48, 96), (64, 32), (192, 16), (20, 12)])
def test_shape(device, shape, op, num_warps):
    """Each change of shape moves every element as NumPy does."""
    check_change_of_shape(device, shape, op, num_warps)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_scan(device, shape, axis, reverse, num_warps):
    """Prefix sums from both ends are NumPy's."""
    check_scan(device, shape, axis, reverse, num_warps)


@triton.jit
def sort_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    x = tl.trans(tl.sort(tl.trans(x))) if AXIS == 0 else tl.sort(x)
    tl.store(out_ptr + at, x)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(64, 64), (1, 512), (256, 2)])
def test_sort(device, shape, axis, num_warps):
    """Sorting along both axes is NumPy's."""
    x = random(shape, "fp32", seed=11)
    out = device.output(shape, "fp32")
    sort_kernel[(1,)](out.array, device.to(x), *shape, axis, num_warps=num_warps)
    np.testing.assert_array_equal(out.numpy(), np.sort(x, axis))


@triton.jit
def gather_kernel(out_ptr, x_ptr, i_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                  AXIS: tl.constexpr):  # fmt: skip
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if AXIS == 0:
        at = tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]
    else:
        at = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(out_ptr + at, tl.gather(x, tl.load(i_ptr + at), AXIS))


@pytest.mark.parametrize("num_warps", FEW)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_gather(device, shape, axis, num_warps):
    """Elements are gathered as by `take_along_axis`."""
    x = random(shape, "fp32", seed=12)
    wanted = (40, shape[1]) if axis == 0 else (shape[0], 40)
    index = np.random.default_rng(13).integers(0, shape[axis], wanted, dtype=np.int32)
    out = device.output(wanted, "fp32")
    gather_kernel[(1,)](
        out.array, device.to(x), device.to(index), *shape, 40, axis, num_warps=num_warps
    )
    np.testing.assert_array_equal(out.numpy(), np.take_along_axis(x, index, axis))


@triton.jit
def count_kernel(out_ptr, old_ptr, bins_ptr, total_ptr, x_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(old_ptr + tl.arange(0, N), tl.atomic_add(out_ptr + tl.arange(0, N), x))
    tl.store(bins_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))
    tl.atomic_add(total_ptr, tl.sum(x))
    tl.atomic_add(total_ptr + 1 + x * 0, x)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("length", LENGTHS)
def test_atomics_and_histogram_have_one_owner(device, length, num_warps):
    x = np.random.default_rng(14).integers(0, 11, length, dtype=np.int32)
    before = np.random.default_rng(15).integers(0, 99, length, dtype=np.int32)
    out, old, bins = (
        device.to(before.copy()),
        device.output(length, "i32"),
        device.output(16, "i32"),
    )
    total = np.random.default_rng(16).integers(0, 99, 2, dtype=np.int32)
    sums = device.to(total.copy())
    count_kernel[(1,)](
        out, old.array, bins.array, sums, device.to(x), length, 16, num_warps=num_warps
    )
    np.testing.assert_array_equal(device.numpy(out), before + x)
    np.testing.assert_array_equal(old.numpy(), before)
    np.testing.assert_array_equal(bins.numpy(), np.bincount(x, minlength=16))
    np.testing.assert_array_equal(device.numpy(sums), total + x.sum())


@triton.jit
def part_kernel(out_ptr, x_ptr, i, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    x[i] = x[i] * 2
    x[M // 2 :] = x[: M // 2] + 1
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], x)
    tl.store(
        out_ptr + M * N + tl.arange(0, M)[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :],
        x[:, ::2],
    )


@pytest.mark.parametrize("num_warps", WARPS)
def test_parts(device, num_warps):
    """Parts of a tile are read and replaced as in NumPy."""
    m, n = 64, 32
    x = random((m, n), "fp32", seed=17)
    out = device.output(m * n * 3 // 2, "fp32")
    part_kernel[(1,)](out.array, device.to(x), 5, m, n, num_warps=num_warps)
    x = x.copy()
    x[5] *= 2
    x[m // 2 :] = x[: m // 2] + 1
    np.testing.assert_array_equal(
        out.numpy(), np.concatenate([x.reshape(-1), x[:, ::2].reshape(-1)])
    )


@triton.jit
def dot_kernel(out_ptr, a_ptr, b_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNS: tl.constexpr,
               PRECISION: tl.constexpr, ACC: tl.constexpr):  # fmt: skip
    acc = tl.zeros((M, N), ACC)
    for turn in range(TURNS):
        at = turn * K + tl.arange(0, K)
        a = tl.load(a_ptr + tl.arange(0, M)[:, None] * (K * TURNS) + at[None, :])
        b = tl.load(b_ptr + at[:, None] * N + tl.arange(0, N)[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=ACC)
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


BLOCKS = [
    (192, 128, 32), (128, 192, 32), (64, 64, 32), (128, 128, 64), (48, 32, 64), (16, 24, 32), (320, 64, 32),
    (64, 80, 64),
]  # fmt: skip


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("block", BLOCKS)
def test_dot(device, block, num_warps):
    """A dot agrees with NumPy for any number of warps."""
    m, n, k = block
    a, b = random((m, 3 * k), "fp16", seed=18), random((3 * k, n), "fp16", seed=19)
    out = device.output((m, n), "fp32")
    dot_kernel[(1,)](
        out.array, device.to(a), device.to(b), *block, 3, "tf32", tl.float32, num_warps=num_warps
    )
    check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("num_warps", [6, 12])
@pytest.mark.parametrize(
    "dtype, precision",
    [
        ("bf16", "tf32"),
        ("fp32", "tf32"),
        ("fp32", "ieee"),
        ("i8", "tf32"),
        ("fp8e5", "tf32"),
        ("fp64", "ieee"),
    ],
)
@pytest.mark.parametrize("block", [(192, 64, 32), (64, 32, 32), (64, 96, 32)])
def test_dot_of_other_types(device, block, dtype, precision, num_warps):
    m, n, k = block
    acc = {"i8": "i32", "fp64": "fp64"}.get(dtype, "fp32")
    a, b = random((m, 2 * k), dtype, seed=20), random((2 * k, n), dtype, seed=21)
    if precision == "tf32" and dtype == "fp32":
        a, b = (x.astype(np.float16).astype(np.float32) for x in (a, b))  # tf32 has them all
    out = device.output((m, n), acc)
    kind = {"i32": tl.int32, "fp64": tl.float64}.get(acc, tl.float32)
    dot_kernel[(1,)](
        out.array, device.to(a), device.to(b), *block, 2, precision, kind, num_warps=num_warps
    )
    if dtype == "i8":
        np.testing.assert_array_equal(out.numpy(), a.astype(np.int64) @ b.astype(np.int64))
    else:
        check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("num_warps", [0, -1, 33, 48, 2**31])
def test_refused(device, num_warps):
    """More than 32 warps, or none, are refused."""
    out = device.output(16, "fp32")
    with pytest.raises(ValueError, match=f"num_warps must be from 1 to 32, not {num_warps}"):
        add_kernel[(1,)](out.array, out.array, out.array, 16, num_warps=num_warps)


@triton.jit
def packed_kernel(out_ptr, x_ptr, m_ptr, M: tl.constexpr, N: tl.constexpr):
    """A mask that is the same for neighbours is held once for each vector."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + columns[None, :]
    inside = rows[:, None] < tl.load(m_ptr)
    x = tl.load(x_ptr + at, mask=inside & (columns[None, :] // 32 < 3), other=-1.0)
    tl.store(out_ptr + at, x, mask=inside)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(32, 128), (4, 2048), (32, 64), (48, 128)])
def test_masks_of_vectors(device, shape, num_warps):
    m, n = shape
    x = random(shape, "fp16", seed=22)
    out = device.to(np.full(shape, 5.0, np.float16))
    packed_kernel[(1,)](
        out, device.to(x), device.to(np.array([m - 1], np.int32)), m, n, num_warps=num_warps
    )
    expected = np.where(np.arange(n) // 32 < 3, x, np.float16(-1))
    expected[m - 1] = 5.0
    np.testing.assert_array_equal(device.numpy(out), expected)


@triton.jit
def row_kernel(out_ptr, x_ptr, N: tl.constexpr):
    """A row that takes several CTAs on Hopper."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at).to(tl.float32)
    x = x - tl.max(x, 0)
    e = tl.exp(x)
    tl.store(out_ptr + at, e / tl.sum(e, 0))


@pytest.mark.parametrize("num_warps", [6, 12, 24, 31])
@pytest.mark.parametrize("columns", [65536, 49152])
def test_long_rows(device, columns, num_warps):
    x = random((2, columns), "fp16", seed=23)
    out = device.output((2, columns), "fp32")
    row_kernel[(2,)](out.array, device.to(x), columns, num_warps=num_warps)
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), e / e.sum(1, keepdims=True), rtol=2e-5, atol=1e-9)


@triton.jit
def update_kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    """What was loaded is used after it was overwritten."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, x * 3 + 1)
    tl.store(y_ptr + tl.arange(0, M), tl.cumsum(tl.sum(x, 1), 0))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(64, 64), (32, 16), (96, 32)])
def test_update_in_place(device, shape, num_warps):
    x = random(shape, "i32", seed=24)
    given, sums = device.to(x.copy()), device.output(shape[0], "i32")
    update_kernel[(1,)](given, sums.array, *shape, num_warps=num_warps)
    np.testing.assert_array_equal(device.numpy(given), x * 3 + 1)
    np.testing.assert_array_equal(sums.numpy(), x.sum(1).cumsum())
