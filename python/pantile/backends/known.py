"""The targets that programs look up: `backends` maps names to (compiler, driver)."""

from .record import Record
from .registry import compilers


class Backend(Record):
    """The two halves of a target.

    Parameters
    ----------
    compiler : type
        The class of its back end, such as CUDABackend.
    driver : type
        The class of its driver, such as CudaDriver.
    """

    __module__ = "pantile.backends"  # where Triton has it

    compiler: type
    driver: type


class _Backends(dict):
    """The known targets; their classes are imported when they are used."""

    def _load(self):
        if not super().__len__():
            from ..runtime.driver import CpuDriver, CudaDriver

            drivers = {"nvidia": CudaDriver, "cpu": CpuDriver}
            self.update({n: Backend(made, drivers[n]) for n, made in compilers().items()})
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
