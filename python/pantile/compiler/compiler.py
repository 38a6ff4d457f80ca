"""Compiling ahead of a launch, and Triton's import path of what is around it."""

from .. import knobs  # noqa: F401
from ..backends.attrs_descriptor import serve_imports_from
from ..backends.compiler import BaseBackend, GPUTarget, Language
from ..backends.known import backends  # noqa: F401
from ..backends.registry import make_backend
from ..hooks import LazyDict
from ..runtime.errors import OutOfResources
from .ahead_of_time import compile
from .assembly import Assembly as AsmDict
from .kernel import CompiledKernel
from .keys import get_cache_invalidating_env_vars, get_cache_key, max_shared_mem, triton_key
from .source import ASTSource
from .text_source import IRSource

__all__ = [
    "ASTSource",
    "AsmDict",
    "BaseBackend",
    "CompiledKernel",
    "GPUTarget",
    "IRSource",
    "Language",
    "LazyDict",
    "OutOfResources",
    "compile",
    "get_cache_invalidating_env_vars",
    "get_cache_key",
    "make_backend",
    "max_shared_mem",
    "triton_key",
]

serve_imports_from(__name__)
