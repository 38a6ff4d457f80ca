"""Compiling without launching."""

from ..backends.attrs_descriptor import serve_imports_from
from .compiler import ASTSource, CompiledKernel, LazyDict, compile, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from .keys import get_cache_key, max_shared_mem
from .text_source import IRSource

serve_imports_from(__name__)

__all__ = [
    "ASTSource",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "IRSource",
    "LazyDict",
    "UnsupportedLanguageConstruct",
    "compile",
    "get_cache_key",
    "make_backend",
    "max_shared_mem",
]
