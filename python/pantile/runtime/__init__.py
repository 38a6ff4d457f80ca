"""Launching kernels: jit functions, tuning, the driver, errors."""

from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .driver import driver
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret


def info():
    """Return the versions of the library, of LLVM and of the assembler in use, a line each."""
    from .. import _pantile

    return _pantile.version_text()


__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "autotune",
    "driver",
    "heuristics",
    "info",
    "reinterpret",
]
