"""Triton's import path of its extension module."""

from . import libtriton

__all__ = ["libtriton"]
