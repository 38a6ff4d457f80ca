"""Triton's import path of the compiler's exceptions."""

from ..runtime.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    TritonError,
    UnsupportedLanguageConstruct,
)

__all__ = [
    "CompilationError",
    "CompileTimeAssertionFailure",
    "TritonError",
    "UnsupportedLanguageConstruct",
]
