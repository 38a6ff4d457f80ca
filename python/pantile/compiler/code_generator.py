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


def ast_to_ttir(
    fn, src, context=None, options=None, codegen_fns=None, module_map=None, module=None
):
    """Return the tile IR of an ASTSource for the device at hand; see `ASTSource.make_ir`."""
    from ..runtime.driver import driver
    from .compiler import make_backend

    target = driver.active.get_current_target()
    options = options or make_backend(target).parse_options({})
    return src.make_ir(target, options, codegen_fns, module_map, context)
