"""Element types of the language as the model sees them: precision, range, promotion.

Needs: NumPy and ml_dtypes.
Gives: names ("fp16", "i32") with their limits, and the type of `a op b` by the language's rules.
How:   values of float types are held in float64, integers in their own NumPy type, so that they wrap
       around as the machine's do.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class FloatType:
    """A float type: bits of precision, the largest value, and an error that underflow may cost."""

    numpy: type
    precision: int
    largest: float
    slack: float
    bits: int

    @property
    def unit(self):
        return 2.0**-self.precision


FLOATS = {
    "fp64": FloatType(np.float64, 53, 1.7e308, 2.0**-1000, 64),
    "fp32": FloatType(np.float32, 24, 3.4e38, 2.0**-125, 32),
    "fp16": FloatType(np.float16, 11, 65504.0, 2.0**-25, 16),
    "bf16": FloatType(ml_dtypes.bfloat16, 8, 3.38e38, 2.0**-125, 16),
    "fp8e4nv": FloatType(ml_dtypes.float8_e4m3fn, 4, 448.0, 2.0**-10, 8),
    "fp8e5": FloatType(ml_dtypes.float8_e5m2, 3, 57344.0, 2.0**-17, 8),
}
INTS = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}
NUMPY = {"i1": np.bool_, **INTS, **{name: kind.numpy for name, kind in FLOATS.items()}}
LONG = {
    "i1": "int1",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8e4nv",
    "fp8e5": "float8e5",
    **{name: ("int" if name[0] == "i" else "uint") + name[1:] for name in INTS},
}
WIDE_FLOATS = ("fp16", "bf16", "fp32", "fp64")
FP8 = ("fp8e4nv", "fp8e5")


def is_float(dtype):
    return dtype in FLOATS


def is_int(dtype):
    return dtype in INTS


def is_signed(dtype):
    return dtype[0] == "i"


def bits(dtype):
    return FLOATS[dtype].bits if dtype in FLOATS else int(dtype[1:])


def promote(a, b):
    """The type in which two run-time operands are combined."""
    if a == b:
        return a
    kinds = {is_float(a), is_float(b)}
    if kinds == {True, False}:
        return a if is_float(a) else b
    if kinds == {True}:
        for wide in ("fp64", "fp32", "fp16"):
            if wide in (a, b):
                return wide
        return "fp32" if "bf16" in (a, b) else "fp16"
    if "i1" in (a, b):
        return b if a == "i1" else a
    if bits(a) != bits(b):
        return a if bits(a) > bits(b) else b
    return a if not is_signed(a) else b


def sum_type(dtype):
    """The type in which narrow integers add up."""
    if is_int(dtype) and bits(dtype) < 32:
        return "i32" if is_signed(dtype) else "u32"
    return dtype


def compared_type(dtype):
    """The type in which `tl.max` compares narrow values."""
    if bits(dtype) >= 32:
        return dtype
    return "fp32" if is_float(dtype) else "i32"
