"""Triton's import path of names that are written in the language itself."""

from .namespace import language_names as _names

globals().update(_names)

__all__ = [*_names]
