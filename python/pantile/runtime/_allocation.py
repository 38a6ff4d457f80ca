"""Where kernels get memory of their own. Ours need none; libraries set an allocator all the same."""

from contextvars import ContextVar


class Buffer:
    """What an allocator returns: something with an address."""

    def data_ptr(self):
        raise NotImplementedError


class Allocator:
    """A callable (size in bytes, alignment, stream) -> Buffer."""

    def __call__(self, size, alignment, stream):
        raise NotImplementedError


class NullAllocator:
    """The allocator where none was set."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError(
            "Kernel requires a runtime memory allocation, but no allocator was set. "
            "Use triton.set_allocator to specify an allocator."
        )


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("pantile_allocator", default=_NULL_ALLOCATOR)
_profile_allocator = ContextVar("pantile_profile_allocator", default=None)


def set_allocator(allocator):
    """Set what gives kernels memory of their own; ours need none, so that it is never called.

    It holds in the thread, and in what the context is copied to.

    Parameters
    ----------
    allocator : callable
        `allocator(size, alignment, stream)`, bytes, bytes and a CUstream, returns what has
        `data_ptr()`, such as a tensor.
    """
    _allocator.set(allocator)


def set_profile_allocator(allocator):
    """Set the same for buffers of profilers."""
    _profile_allocator.set(allocator)


def has_profile_allocator():
    """Return whether `set_profile_allocator` was called with one."""
    return _profile_allocator.get() is not None
