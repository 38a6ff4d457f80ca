"""Pantile: GPU and CPU kernels written as blocked Python programs.

``import pantile as triton`` and ``import pantile.language as tl`` run Triton's kernels. Nothing heavy is imported
here: the compiler's library is opened at the first launch, torch and NumPy never.
"""

__version__ = "3.6.0+pantile.0.1.0"

from . import knobs, language, runtime
from .arith import cdiv, next_power_of_2
from .compiler import CompilationError, CompiledKernel, compile
from .runtime import (
    Autotuner,
    Config,
    Heuristics,
    JITFunction,
    KernelInterface,
    autotune,
    heuristics,
    reinterpret,
)
from .runtime.errors import (
    AssemblerError,
    AutotunerError,
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
    "Autotuner",
    "AutotunerError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "Config",
    "DriverError",
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
    "TensorWrapper",
    "TritonError",
    "UnsupportedLanguageConstruct",
    "autotune",
    "cdiv",
    "compile",
    "heuristics",
    "jit",
    "knobs",
    "language",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "testing",
    "tools",
]

_LAZY = {"testing", "tools", "backends"}


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `pantile` has no attribute `{name}`")
