"""Triton's import path of `@gluon.jit`."""

from .runtime import GluonASTSource, GluonJITFunction, constexpr_function, jit

__all__ = ["GluonASTSource", "GluonJITFunction", "constexpr_function", "jit"]
