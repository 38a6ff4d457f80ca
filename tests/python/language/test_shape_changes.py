"""Shape changes and hints that other tests do not name, over types, against NumPy."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

M, N = 16, 32
ALL = ["i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
ALL += ["fp8e4nv", "fp8e5", "fp16", "bf16", "fp32", "fp64"]


@triton.jit
def shape_kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "view":
        y = tl.ravel(tl.view(x, (N, M)))
    elif OP == "expand_dims":
        y = tl.ravel(tl.permute(tl.expand_dims(x, 1), (2, 1, 0)))
    elif OP == "split":
        even, odd = tl.split(tl.reshape(x, (M, N // 2, 2)))
        y = tl.ravel(tl.trans(tl.join(odd, even)))
    elif OP == "zeros_like":
        y = tl.ravel(tl.where(x == x, tl.zeros_like(x), x))
    elif OP == "max_contiguous":
        y = tl.ravel(tl.trans(x))
    offsets = tl.max_contiguous(tl.multiple_of(tl.arange(0, M * N), 16), M * N)
    tl.store(out_ptr + offsets, y)


EXPECTED = {
    "view": lambda x: x.reshape(N, M),
    "expand_dims": lambda x: x.T,
    "split": lambda x: np.swapaxes(x.reshape(M, N // 2, 2)[:, :, ::-1], 1, 2),
    "zeros_like": lambda x: np.zeros_like(x),
    "max_contiguous": lambda x: x.T,
}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("op", ["view", "expand_dims", "split", "max_contiguous"])
def test_move(device, op, dtype):
    """Every element goes where NumPy moves it, bit for bit."""
    x = random((M, N), dtype, seed=41)
    out = device.output(M * N, dtype)
    shape_kernel[(1,)](out.array, device.to(x), M, N, op)
    expected = np.ascontiguousarray(EXPECTED[op](x)).reshape(-1)
    assert out.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["i16", "u8", "u16", "fp64", "fp16"])
def test_zeros_like(device, dtype):
    x = random((M, N), dtype, seed=42)
    out = device.output(M * N, dtype)
    shape_kernel[(1,)](out.array, device.to(x), M, N, "zeros_like")
    np.testing.assert_array_equal(out.numpy(), np.zeros(M * N))


@triton.jit
def constancy_kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    mask = tl.max_constancy(offsets // 16 < n, 16)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=-1.0))


def test_max_constancy(device):
    x = random(256, "fp32", seed=43)
    out = device.output(256, "fp32")
    constancy_kernel[(1,)](out.array, device.to(x), 9, 256)
    np.testing.assert_array_equal(out.numpy(), np.where(np.arange(256) // 16 < 9, x, -1))


@triton.jit
def cast_kernel(out_ptr, x_ptr, N: tl.constexpr, TO: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.cast(tl.load(x_ptr + offsets), TO))


def test_cast_function(device):
    x = random(256, "fp32", seed=44, low=0, high=100) * 40
    for name, type_ in (("i16", tl.int16), ("u8", tl.uint8), ("u16", tl.uint16)):
        values = np.abs(x) if name[0] == "u" else x
        out = device.output(256, name)
        cast_kernel[(1,)](out.array, device.to(values), 256, type_)
        np.testing.assert_array_equal(out.numpy(), np.trunc(values).astype(out.dtype))


@pytest.mark.parametrize("name", ["float8e4nv", "float8e5", "float64", "float16", "bfloat16"])
def test_cast_to_floats(device, name):
    short = {"float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "float64": "fp64"}
    short = short.get(name, {"float16": "fp16", "bfloat16": "bf16"}.get(name))
    x = random(256, "fp32", seed=45)
    out = device.output(256, short)
    cast_kernel[(1,)](out.array, device.to(x), 256, getattr(tl, name))
    assert out.numpy().tobytes() == x.astype(out.dtype).tobytes()


def test_largest_tile(device):
    """TRITON_MAX_TENSOR_NUMEL bounds the elements of a tile, on the host and in kernels."""
    assert tl.TRITON_MAX_TENSOR_NUMEL == 1 << 20
    out = device.output(1, "i32")
    limit_kernel[(1,)](out.array)
    assert out.numpy()[0] == 1 << 20
    with pytest.raises(triton.CompilationError):
        too_large_kernel[(1,)](out.array)


@triton.jit
def limit_kernel(out_ptr):
    tl.store(out_ptr, tl.TRITON_MAX_TENSOR_NUMEL)


@triton.jit
def too_large_kernel(out_ptr):
    tl.store(out_ptr, tl.sum(tl.full((2, tl.TRITON_MAX_TENSOR_NUMEL), 1, tl.int32)))


@triton.jit
def integer_to_float8_kernel(out_ptr, x_ptr, N: tl.constexpr, TO: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets).to(tl.float64)
    tl.store(out_ptr + offsets, x.to(TO))


@pytest.mark.parametrize("dtype", ["i16", "i32", "u32", "i64"])
@pytest.mark.parametrize("to", ["fp8e4nv", "fp8e5"])
def test_integers_become_8_bit_floats(device, dtype, to):
    """The two casts are folded into one."""
    x = random(256, dtype, seed=46, low=0, high=400)
    out = device.output(256, to)
    kinds = {"fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5}
    integer_to_float8_kernel[(1,)](out.array, device.to(x), 256, kinds[to])
    assert out.numpy().tobytes() == x.astype(np.float32).astype(out.dtype).tobytes()
