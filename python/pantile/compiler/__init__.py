"""Compiling without launching."""

from .compiler import ASTSource, AttrsDescriptor, CompiledKernel, LazyDict, compile, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = [
    "ASTSource",
    "AttrsDescriptor",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "LazyDict",
    "UnsupportedLanguageConstruct",
    "compile",
    "make_backend",
]
