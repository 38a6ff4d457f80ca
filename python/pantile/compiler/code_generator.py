"""Triton's import path of its front end, as far as libraries use it."""

from .. import knobs, language
from .._utils import is_namedtuple
from ..language import constexpr, str_to_ty, tensor
from ..language import tuple as tl_tuple
from ..language.core import base_type, base_value
from ..runtime.callables import ConstexprFunction, JITCallable  # noqa: F401
from ..runtime.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    UnsupportedLanguageConstruct,
)
from ..runtime.jit_function import JITFunction
from .front_end import ast_to_ttir, check_identifier_legality, is_jit_callable, mangle_fn

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
