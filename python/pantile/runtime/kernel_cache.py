"""The kernels of a jit function that are in memory, as Triton shows them."""


class DeviceCaches:
    """The kernels by device: `caches[0]` is (kernels, keys, target, back end, binder).

    Kernels of all devices of one kind are kept together, so every device shows the same ones.
    """

    def __init__(self, function):
        self._function = function

    def __getitem__(self, device):
        return self._function._cache_of_device()

    def __iter__(self):
        return iter([0] if self._function.dispatcher.entries() else [])

    def __len__(self):
        return len(list(iter(self)))

    def __contains__(self, device):
        return bool(self._function.dispatcher.entries())

    def keys(self):
        return list(iter(self))

    def values(self):
        return [self[device] for device in self]

    def items(self):
        return [(device, self[device]) for device in self]

    def clear(self):
        """Forget all kernels: the next launch compiles, or finds its kernel on disk."""
        self._function.dispatcher.clear()

    def pop(self, device, default=None):
        self.clear()
        return default


class KernelCache:
    """The kernels in memory by specialisation key."""

    def __init__(self, dispatcher):
        self._dispatcher = dispatcher

    def _entries(self):
        return self._dispatcher.entries()

    def __getitem__(self, key):
        return self._entries()[key]

    def get(self, key, default=None):
        return self._entries().get(key, default)

    def __len__(self):
        return len(self._entries())

    def __iter__(self):
        return iter(self._entries())

    def __contains__(self, key):
        return key in self._entries()

    def keys(self):
        return self._entries().keys()

    def values(self):
        return self._entries().values()

    def items(self):
        return self._entries().items()

    def clear(self):
        self._dispatcher.clear()
