"""Targets of compilation: `backends` maps names to (compiler, driver)."""

from .compiler import BaseBackend, GPUTarget, Language
from .driver import DriverBase
from .known import Backend, backends

__all__ = ["Backend", "BaseBackend", "DriverBase", "GPUTarget", "Language", "backends"]


def __getattr__(name):
    # Triton's module is there without an import of its own, too.
    if name != "nvidia":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
