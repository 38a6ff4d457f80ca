"""Compiling without launching."""

from ..backends.attrs_descriptor import serve_imports_from
from .compiler import ASTSource, CompiledKernel, LazyDict, compile, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

serve_imports_from(__name__)

__all__ = [
    "ASTSource",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "LazyDict",
    "UnsupportedLanguageConstruct",
    "compile",
    "make_backend",
]
