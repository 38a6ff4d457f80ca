"""Triton's import path of the language's names."""

from . import TYPES, PropagateNan, constexpr, dtype, get_int_dtype, pointer_type
from . import language_names as _names

globals().update(TYPES)
globals().update(_names)

__all__ = [*TYPES, *_names, "PropagateNan", "constexpr", "dtype", "get_int_dtype", "pointer_type"]
