"""Triton's import path of the base of all errors."""

from .runtime.errors import TritonError

__all__ = ["TritonError"]
