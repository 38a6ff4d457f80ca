"""Triton's import path of the language's names."""

import math

from . import (
    TRITON_MAX_TENSOR_NUMEL,
    TYPES,
    PropagateNan,
    block_type,
    const,
    constexpr,
    dtype,
    get_int_dtype,
    pointer_type,
)
from . import language_names as _names
from .classes import CLASSES
from .dtypes import base_type, base_value
from .names import Builtin

_Dtype = dtype
CONSTEXPR_0 = constexpr(0)

globals().update(TYPES)
globals().update(CLASSES)
globals().update(_names)


def builtin(fn):
    """Make a library's function callable from kernels, which inline it without `_semantic`."""
    from ..runtime.jit import JITFunction

    return JITFunction(fn)


extern = builtin


def is_builtin(fn):
    """Return whether `fn` is a function of the language."""
    return isinstance(fn, Builtin)


def _unwrap_if_constexpr(value):
    if isinstance(value, list):
        return [_unwrap_if_constexpr(element) for element in value]
    if isinstance(value, tuple):
        elements = [_unwrap_if_constexpr(element) for element in value]
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    return value.value if isinstance(value, constexpr) else value


def _unwrap_shape(shape):
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
    return _Dtype(dtype).primitive_bitwidth


def __getattr__(name):
    if name in ("JITCallable", "knobs"):
        import importlib

        module = {"JITCallable": "pantile.runtime.callables"}.get(name, "pantile.knobs")
        found = importlib.import_module(module)
        return found if name == "knobs" else getattr(found, name)
    if name in ("constexpr_function", "_aggregate", "aggregate_replace"):
        import pantile

        return getattr(pantile, name.lstrip("_"))
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


__all__ = [
    *TYPES,
    *CLASSES,
    *_names,
    "CONSTEXPR_0",
    "PropagateNan",
    "TRITON_MAX_TENSOR_NUMEL",
    "base_type",
    "base_value",
    "block_type",
    "builtin",
    "const",
    "constexpr",
    "dtype",
    "extern",
    "get_int_dtype",
    "is_builtin",
    "pointer_type",
]
