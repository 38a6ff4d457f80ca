"""Triton's import path of the language's names."""

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


def __getattr__(name):
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
