"""Functions of the language's modules that the host calls: on shapes, types and constants."""

import math

from .constexpr import constexpr
from .dtypes import dtype as _dtype
from .names import Builtin
from .namespace import TRITON_MAX_TENSOR_NUMEL


def is_builtin(fn):
    """Return whether `fn` is a function of the language."""
    return isinstance(fn, Builtin)


def _unwrap_if_constexpr(value):
    """Return what a compile-time value holds, also within lists and tuples; others as they are."""
    if isinstance(value, list):
        return [_unwrap_if_constexpr(element) for element in value]
    if isinstance(value, tuple):
        elements = [_unwrap_if_constexpr(element) for element in value]
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    return value.value if isinstance(value, constexpr) else value


def _unwrap_shape(shape):
    """Return the extents of a shape as a list of plain values."""
    return [_unwrap_if_constexpr(extent) for extent in _unwrap_if_constexpr(shape)]


def must_use_result(x, s=True):
    """Mark a function whose result means something: with a text, for a decorator of it."""
    return (lambda fn: fn) if isinstance(x, str) else x


def is_negative_zero(x):
    """Return whether `x` is the float -0.0."""
    return isinstance(x, float) and x == 0.0 and math.copysign(1.0, x) < 0


def validate_block_shape(shape):
    """Return the number of elements of a shape.

    Raises TypeError for an extent that is no int, ValueError for one that is not positive and for
    more than TRITON_MAX_TENSOR_NUMEL elements.
    """
    count = 1
    for place, extent in enumerate(shape):
        if not isinstance(extent, int):
            raise TypeError(
                f"Shape element {place} must have type `constexpr[int]`, got `constexpr[{type(extent)}]"
            )
        if extent <= 0:
            raise ValueError(f"Shape element {place} must be positive, got {extent}")
        count *= extent
    if count > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({count}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})"
        )
    return count


def get_primitive_bitwidth(dtype):
    """Return the bits of an element of a type's name, such as "fp16" or "i32"."""
    return _dtype(dtype).primitive_bitwidth
