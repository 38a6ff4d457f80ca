"""Launching kernels: jit functions, tuning, the driver, errors."""

from ._allocation import set_allocator
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret
from .process import info, release_workspaces, stats
from .search_space import SearchSpace, search_space

# These bring much of the standard library with them.
_LAZY = {"driver": "driver", "RedisRemoteCacheBackend": "cache", "RemoteCacheBackend": "cache"}
_LAZY_MODULES = {"build", "cache"}


def __getattr__(name):
    import importlib

    if name in _LAZY_MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    # The object `driver` takes the place of the module of its name, as in Triton.
    value = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


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
    "SearchSpace",
    "TensorWrapper",
    "autotune",
    "driver",
    "heuristics",
    "info",
    "reinterpret",
    "release_workspaces",
    "search_space",
    "set_allocator",
    "stats",
]
