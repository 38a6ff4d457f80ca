"""Pantile: GPU and CPU kernels written as blocked Python programs.

``import pantile as triton`` and ``import pantile.language as tl`` run Triton's kernels. Nothing heavy is imported
here: the compiler's library is opened at the first launch, torch and NumPy never.
"""

import importlib

from . import knobs, language, runtime
from .arith import cdiv, next_power_of_2
from .language.aggregate import aggregate
from .marks import must_use_result
from .release import __version__, version  # noqa: F401
from .runtime import (
    Autotuner,
    Config,
    Heuristics,
    JITFunction,
    KernelInterface,
    SearchSpace,
    autotune,
    heuristics,
    reinterpret,
    search_space,
)
from .runtime._allocation import set_allocator
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .runtime.callables import constexpr_function
from .runtime.errors import (
    AssemblerError,
    AutotunerError,
    CompilationError,
    CompileTimeAssertionFailure,
    DriverError,
    InternalError,
    InterpreterError,
    LaunchError,
    OutOfResources,
    PantileError,
    PTXASError,
    TritonError,
    UnsupportedLanguageConstruct,
)
from .runtime.jit import MockTensor, TensorWrapper, jit

__all__ = [
    "AssemblerError",
    "AsyncCompileMode",
    "Autotuner",
    "AutotunerError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "Config",
    "DriverError",
    "FutureKernel",
    "Heuristics",
    "InternalError",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "LaunchError",
    "MockTensor",
    "OutOfResources",
    "PTXASError",
    "PantileError",
    "SearchSpace",
    "TensorWrapper",
    "TritonError",
    "UnsupportedLanguageConstruct",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "heuristics",
    "jit",
    "knobs",
    "language",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "search_space",
    "set_allocator",
    "testing",
    "tools",
]

_LAZY_MODULES = {
    "_C",
    "_utils",
    "backends",
    "compat",
    "compiler",
    "errors",
    "jax",
    "testing",
    "tools",
}
_LAZY_NAMES = {"compile": "compiler", "CompiledKernel": "compiler", "ASTSource": "compiler"}


def __getattr__(name):
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    if name in _LAZY_MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
