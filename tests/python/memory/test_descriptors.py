"""Tensor descriptors, made by kernels and by the host."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from pantile.tools.tensor_descriptor import TensorDescriptor
from test_block_ptr import window


@triton.jit
def copy_kernel(
    x_ptr, y_ptr, M, N, stride, om, on, BM: tl.constexpr, BN: tl.constexpr, PAD: tl.constexpr
):
    x = tl.make_tensor_descriptor(
        x_ptr, shape=[M, N], strides=[stride, 1], block_shape=[BM, BN], padding_option=PAD
    )
    y = tl.make_tensor_descriptor(y_ptr, [BM, BN], [BN, 1], [BM, BN])
    tl.static_assert(x.dtype == x_ptr.dtype.element_ty)
    tl.static_assert(x.block_shape[0] == BM and x.block_type.shape[1] == BN)
    tl.static_assert(isinstance(x, tl.tensor_descriptor))
    y.store([0, 0], x.load([om, on]))


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "i8", "u16"])
@pytest.mark.parametrize("offset", [(0, 0), (40, 24), (-7, -3)])
def test_copy(device, dtype, offset):
    """A tile at any offset holds the array, and zeros outside."""
    x = random((50, 48), dtype)
    out = device.output((32, 16), dtype)
    copy_kernel[(1,)](device.to(x), out.array, 50, 45, 48, *offset, 32, 16, "zero")
    np.testing.assert_array_equal(out.numpy(), window(x[:, :45], *offset, 32, 16, 0))


def test_nan_outside(device):
    x = random((20, 32), "bf16", seed=1)
    out = device.output((32, 32), "bf16")
    copy_kernel[(1,)](device.to(x), out.array, 20, 30, 32, 4, 4, 32, 32, "nan")
    expected = window(x[:, :30].astype(np.float32), 4, 4, 32, 32, np.nan)
    np.testing.assert_array_equal(out.numpy().astype(np.float32), expected)


@triton.jit
def host_kernel(x, y, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    tl.static_assert(x.block_shape[0] == BM)
    tl.store_tensor_descriptor(y, [m, n], tl.load_tensor_descriptor(x, [m, n]) + 1)


@pytest.mark.parametrize("dtype", ["fp16", "i32"])
def test_host(device, dtype):
    """Descriptors of the host load and store every tile."""
    x = random((70, 40), dtype, seed=2)
    out = device.output((70, 40), dtype)
    block = [32, 16]
    source = TensorDescriptor.from_tensor(device.to(x), block)
    target = TensorDescriptor(out.array, [70, 40], [40, 1], block)
    host_kernel[(3, 3)](source, target, *block)
    np.testing.assert_array_equal(out.numpy(), x + x.dtype.type(1))


def test_host_of_other_shapes(device):
    """One kernel for all sizes, another one for each block shape."""
    for rows, columns, block in [(16, 16, 16), (100, 24, 16), (65, 72, 32)]:
        x = random((rows, columns), "fp32", seed=rows)
        out = device.output((rows, columns), "fp32")
        source = TensorDescriptor.from_tensor(device.to(x), [block, block])
        target = TensorDescriptor(out.array, [rows, columns], [columns, 1], [block, block])
        host_kernel[(triton.cdiv(rows, block), triton.cdiv(columns, block))](
            source, target, block, block
        )
        np.testing.assert_array_equal(out.numpy(), x + 1)


class Lookalike:
    """What some libraries pass: an object with a descriptor's attributes."""

    def __init__(self, base, shape, strides, block_shape):
        self.base, self.shape, self.strides, self.block_shape = base, shape, strides, block_shape


def test_duck_typed(device):
    x = random((32, 32), "fp32", seed=3)
    out = device.output((32, 32), "fp32")
    host_kernel[(1, 1)](
        Lookalike(device.to(x), (32, 32), (32, 1), (32, 32)),
        Lookalike(out.array, (32, 32), (32, 1), (32, 32)),
        32,
        32,
    )
    np.testing.assert_array_equal(out.numpy(), x + 1)


@triton.jit
def matmul_kernel(a, b, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    c.store([m, n], acc)


@pytest.mark.parametrize("shape", [(128, 128, 64), (120, 72, 88)])
def test_gemm_over_host_descriptors(device, shape):
    """A GEMM over descriptors of the host agrees with float64."""
    m, n, k = shape
    a, b = random((m, k), "fp16", seed=4), random((k, n), "fp16", seed=5)
    out = device.output((m, n), "fp32")
    matmul_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
        TensorDescriptor.from_tensor(device.to(a), [64, 32]),
        TensorDescriptor.from_tensor(device.to(b), [32, 64]),
        out.array, m, n, k, 64, 64, 32,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b)


@triton.jit
def gather_kernel(x_ptr, rows_ptr, y_ptr, M, N, column, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, C])
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [1, C])
    rows = tl.load(rows_ptr + tl.arange(0, R))
    block = x.gather(rows, column)
    y.scatter(block * 2, rows, column)


def test_gather_and_scatter(device):
    m, n = 40, 24
    x = random((m, n), "fp32", seed=6)
    rows = np.random.default_rng(7).permutation(m)[:16].astype(np.int32)
    rows[3] = m + 5  # outside: reads zeros and writes nothing
    array = device.to(np.full((m, n), -1, np.float32))
    gather_kernel[(1,)](device.to(x), device.to(rows), array, m, n, 12, 16, 16)
    expected = np.full((m, n), -1, np.float32)
    for row in rows:
        if row < m:
            expected[row, 12:] = 2 * x[row, 12:]
    np.testing.assert_array_equal(device.numpy(array), expected)


@triton.jit
def atomic_kernel(y_ptr, x_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr):
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BM, BN])
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    value = x.load([0, 0])
    if KIND == "add":
        y.atomic_add([0, 0], value)
    elif KIND == "min":
        y.atomic_min([0, 0], value)
    elif KIND == "max":
        y.atomic_max([0, 0], value)
    elif KIND == "and":
        y.atomic_and([0, 0], value)
    elif KIND == "or":
        y.atomic_or([0, 0], value)
    else:
        y.atomic_xor([0, 0], value)


@pytest.mark.parametrize(
    "kind,combine",
    [
        ("add", np.add),
        ("min", np.minimum),
        ("max", np.maximum),
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
    ],
)
def test_atomics(device, kind, combine):
    """Each atomic through a descriptor combines what is inside the array."""
    x, y = random((10, 12), "i32", seed=8), random((10, 12), "i32", seed=9)
    array = device.to(y.copy())
    atomic_kernel[(1,)](array, device.to(x), 10, 12, 16, 16, kind)
    np.testing.assert_array_equal(device.numpy(array), combine(y, x))


@triton.jit
def rank_kernel(x, y, RANK: tl.constexpr):
    if RANK == 1:
        y.store([8], x.load([8]))
    elif RANK == 3:
        y.store([0, 1, 2], x.load([0, 1, 2]))
    else:
        y.store([0, 0, 1, 1, 4], x.load([0, 0, 1, 1, 4]))


@pytest.mark.parametrize(
    "shape,block,offset",
    [
        ((30,), (16,), (8,)),
        ((3, 6, 12), (2, 4, 8), (0, 1, 2)),
        ((2, 2, 3, 3, 8), (1, 2, 2, 2, 4), (0, 0, 1, 1, 4)),
    ],
)
def test_ranks(device, shape, block, offset):
    """Descriptors of rank 1 to 5 load and store the tile at their offsets."""
    x = random(shape, "fp32", seed=10)
    out = device.output(shape, "fp32")
    before = out.numpy().copy()
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    rank_kernel[(1,)](
        TensorDescriptor(device.to(x), list(shape), strides, list(block)),
        TensorDescriptor(out.array, list(shape), strides, list(block)),
        len(shape),
    )
    inside = tuple(slice(o, o + b) for o, b in zip(offset, block))
    before[inside] = x[inside]
    np.testing.assert_array_equal(out.numpy(), before)


@pytest.mark.parametrize(
    "change,message",
    [
        ({"shape": [4]}, "strides"),
        ({"strides": [16, 2]}, "contiguous"),
        ({"strides": [3, 1]}, "16-byte"),
        ({"block_shape": [4, 4, 4]}, "block"),
        ({"padding": "one"}, "padding"),
        ({"shape": [0, 16]}, "positive"),
    ],
)
def test_host_rules(change, message):
    arguments = {
        "base": random((16, 16)),
        "shape": [16, 16],
        "strides": [16, 1],
        "block_shape": [16, 16],
    }
    with pytest.raises(ValueError, match=message):
        TensorDescriptor(**{**arguments, **change})


@triton.jit
def described(source, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """A descriptor of the host as it is, or one of a plain pointer."""
    if isinstance(source, tl.tensor_descriptor):
        return source
    else:
        return tl.make_tensor_descriptor(source, [rows, columns], [columns, 1], [BM, BN])


@triton.jit
def persistent_kernel(x, y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    source = described(x, rows, columns, BM, BN)
    target = described(y, rows, columns, BM, BN)
    across = tl.cdiv(columns, BN)
    for tile in tl.range(
        tl.program_id(0), tl.cdiv(rows, BM) * across, tl.num_programs(0), flatten=True
    ):
        m = tile // across * BM
        n = tile % across * BN
        left, right = tl.split(
            tl.permute(tl.reshape(source.load([m, n]), (BM, 2, BN // 2)), (0, 2, 1))
        )
        both = tl.permute(tl.join(left * 2, right), (0, 2, 1))
        target.store([m, n], tl.reshape(both, (BM, BN)).to(target.dtype))


@pytest.mark.parametrize("from_host", [True, False])
def test_either_side(device, from_host):
    x = random((40, 48), "fp16", seed=11)
    out = device.output((40, 48), "fp16")
    arrays = device.to(x), out.array
    if from_host:
        arrays = [TensorDescriptor(array, [40, 48], [48, 1], [16, 16]) for array in arrays]
    persistent_kernel[(3,)](*arrays, 40, 48, 16, 16)
    factors = np.where(np.arange(48) % 16 < 8, 2, 1).astype(np.float16)
    np.testing.assert_array_equal(out.numpy(), x * factors)
