"""Triton's import path of its front end, as far as libraries ask it something."""

from ..runtime.callables import JITCallable
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = [
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "ast_to_ttir",
    "is_jit_callable",
]


def is_jit_callable(value):
    """Return whether `value` is a jit function or a constexpr function."""
    return isinstance(value, JITCallable)


def ast_to_ttir(fn, src, context=None, options=None, codegen_fns=None, module_map=None):
    """Return the tile IR of an ASTSource, as text."""
    from .compiler import GPUTarget, compile

    return compile(src, GPUTarget("cpu", "cpu", 1)).asm["ttir"]
