"""Launching kernels: jit functions, tuning, the driver, errors."""

from ._allocation import set_allocator
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .cache import RedisRemoteCacheBackend, RemoteCacheBackend
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
    "RedisRemoteCacheBackend",
    "RemoteCacheBackend",
    "TensorWrapper",
    "autotune",
    "driver",
    "heuristics",
    "info",
    "reinterpret",
    "set_allocator",
]
