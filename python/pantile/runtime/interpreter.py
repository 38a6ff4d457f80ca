"""TRITON_INTERPRET=1: kernels run on the CPU wherever their arrays are.

Arrays of a GPU are copied to the host, memory by memory so that views of one storage stay views of
one, and what the kernel wrote is copied back.
"""

import functools

from .jit import JITFunction


class _HostCopies:
    """The host's copies of the device memory that one launch sees."""

    def __init__(self):
        self._storages = {}

    def of(self, value):
        if isinstance(value, (tuple, list)):
            elements = [self.of(element) for element in value]
            return type(value)(*elements) if hasattr(value, "_fields") else type(value)(elements)
        device = getattr(getattr(value, "device", None), "type", "cpu")
        if device == "cpu" or not hasattr(value, "untyped_storage"):
            return value
        import torch

        storage = value.untyped_storage()
        _, host = self._storages.setdefault(storage.data_ptr(), (storage, storage.cpu()))
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(host, value.storage_offset(), value.size(), value.stride())

    def write_back(self):
        for storage, host in self._storages.values():
            storage.copy_(host)


class InterpretedFunction(JITFunction):
    """A jit function whose launches run on the CPU."""

    @functools.cached_property
    def dispatcher(self):
        dispatcher = super().dispatcher
        dispatcher.always_cpu = True
        return dispatcher

    def __getitem__(self, grid):
        # Not a launcher of the extension module: that would not copy.
        return functools.partial(self.run, grid=grid, warmup=False)

    def run(self, *args, grid, warmup, **kwargs):
        copies = _HostCopies()
        args = [copies.of(argument) for argument in args]
        kwargs = {name: copies.of(argument) for name, argument in kwargs.items()}
        kernel = self._launch(grid, args, kwargs, warmup)
        if not warmup:
            copies.write_back()
        return kernel
