"""Random complex arrays for kernel tests, and comparison with NumPy's complex128."""

import numpy as np

KINDS = ["c64", "fp32", "fp16", "i32", "i8"]


def numbers(shape, seed):
    draw = np.random.default_rng(seed)
    return (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(np.complex64)


def reals(shape, seed, dtype=np.float32):
    draw = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return draw.integers(-20, 20, shape).astype(dtype)
    return draw.standard_normal(shape).astype(dtype)


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def check(got, expected, error=4e-7):
    """`got` is `expected`, which is of complex128 or float64, but for a few roundings."""
    assert got.shape == expected.shape
    size = np.maximum(np.abs(expected), 1e-30)
    wrong = np.abs(wide(got) - expected) / size > error
    assert not wrong.any(), (got[wrong][:4], expected[wrong][:4])


def same(got, expected):
    assert got.tobytes() == np.ascontiguousarray(expected).tobytes()


def operand(kind, length, seed):
    if kind == "c64":
        return numbers(length, seed)
    types = {"fp32": np.float32, "fp16": np.float16, "i32": np.int32, "i8": np.int8}
    x = reals(length, seed, types[kind])
    return np.where(x == 0, x.dtype.type(1), x)
