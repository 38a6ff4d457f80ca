"""Targets of compilation: `backends` maps names to (compiler, driver)."""

from .compiler import BaseBackend, GPUTarget, Language
from .driver import DriverBase
from .record import Record


class Backend(Record):
    """The two halves of a target."""

    compiler: type
    driver: type


class _Backends(dict):
    """The known targets; their classes are imported when they are used."""

    def _load(self):
        if not super().__len__():
            from ..runtime.driver import CpuDriver, CudaDriver
            from .cpu.compiler import CPUBackend
            from .nvidia.compiler import CUDABackend

            self.update(nvidia=Backend(CUDABackend, CudaDriver), cpu=Backend(CPUBackend, CpuDriver))
        return self

    def __getitem__(self, name):
        return dict.__getitem__(self._load(), name)

    def __contains__(self, name):
        return name in ("nvidia", "cpu")

    def __iter__(self):
        return dict.__iter__(self._load())

    def __len__(self):
        return 2

    def keys(self):
        return dict.keys(self._load())

    def values(self):
        return dict.values(self._load())

    def items(self):
        return dict.items(self._load())

    def get(self, name, default=None):
        return dict.get(self._load(), name, default)


backends = _Backends()


def __getattr__(name):
    # Triton's module is there without an import of its own, too.
    if name != "nvidia":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")


__all__ = ["Backend", "BaseBackend", "DriverBase", "GPUTarget", "Language", "backends"]
