"""Triton's import path of names that are written in the language itself."""

from .constexpr import constexpr
from .namespace import language_names as _names

globals().update(_names)
N_ROUNDS_DEFAULT = constexpr(10)

__all__ = [*_names]
