"""Triton's import path of its front end, as far as libraries use it."""

import keyword

from .. import knobs, language
from ..language import constexpr, str_to_ty, tensor
from ..language import tuple as tl_tuple
from ..language.core import base_type, base_value
from ..runtime.callables import ConstexprFunction, JITCallable
from ..runtime.jit import JITFunction
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = [
    "CompilationError",
    "CompileTimeAssertionFailure",
    "ConstexprFunction",
    "JITFunction",
    "UnsupportedLanguageConstruct",
    "ast_to_ttir",
    "base_type",
    "base_value",
    "check_identifier_legality",
    "constexpr",
    "is_jit_callable",
    "is_namedtuple",
    "knobs",
    "language",
    "mangle_fn",
    "str_to_ty",
    "tensor",
    "tl_tuple",
]


def is_jit_callable(value):
    """Return whether `value` is a jit function or a constexpr function."""
    return isinstance(value, JITCallable)


def is_namedtuple(val):
    """Return whether `val` is a class of named tuples."""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")


def check_identifier_legality(name, type):
    """Return `name`; CompilationError, which names what it is for, if it is no identifier."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CompilationError(name, None, f"invalid {type} identifier: {name}")
    return name


def mangle_fn(name, arg_tys, caller_context=None):
    """Return a function's name together with the types of its arguments."""
    return f"{name}__{'_'.join(kind.mangle() for kind in arg_tys)}"


def ast_to_ttir(
    fn, src, context=None, options=None, codegen_fns=None, module_map=None, module=None
):
    """Return the tile IR of an ASTSource for the device at hand; see `ASTSource.make_ir`."""
    from ..runtime.driver import driver
    from .compiler import make_backend

    target = driver.active.get_current_target()
    options = options or make_backend(target).parse_options({})
    return src.make_ir(target, options, codegen_fns, module_map, context)
