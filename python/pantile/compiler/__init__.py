"""Compiling without launching."""

from ..runtime.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    UnsupportedLanguageConstruct,
)
from .compiler import ASTSource, CompiledKernel, compile

__all__ = [
    "ASTSource",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "UnsupportedLanguageConstruct",
    "compile",
]
