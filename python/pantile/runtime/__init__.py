"""Launching kernels: jit functions, tuning, the driver, errors."""

from ._allocation import set_allocator
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret
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


def info():
    """Return the versions of the library, of LLVM and of the assembler in use, a line each."""
    from .. import _pantile

    return _pantile.version_text()


def stats():
    """Return what the launches of this process came to, as a dict of counts.

    `launches` are `hits`, which found their kernel without running Python (but a callable grid), and
    `misses`: the first ones of a kind, and those that hooks watch. `shortcuts` are hits of which each
    argument was like that of the launch before. `compiles` are kernels that were compiled, `loads`
    those that were read from the cache on disk.
    """
    from .. import _pantile

    return _pantile.launch_stats()


def release_workspaces(device=None):
    """Wait for a GPU's work, and free the memory that kernels with `nv-stream-k` hand parts of sums over in.

    Returns the bytes that were freed: 0 without a GPU. Graphs that still exist keep theirs, later
    launches allocate again.

    Parameters
    ----------
    device : int, optional
        Number of the GPU; None: the current one.

    Raises
    ------
    RuntimeError
        While one of the GPU's streams is captured.
    """
    from .. import _pantile

    return _pantile.release_workspaces(-1 if device is None else device)


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
