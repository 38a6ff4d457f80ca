"""Classes of values that only a kernel has: for annotations and `isinstance`."""

from .names import LanguageClass


class _KernelOnly(metaclass=LanguageClass):
    def __init__(self, *_, **__):
        raise RuntimeError(f"`tl.{type(self).__name__}` has objects only inside a kernel")


class tensor(_KernelOnly):
    """A scalar or tile that a kernel computes."""


class tensor_descriptor(_KernelOnly):
    """A tensor in memory that a kernel reads and writes tile by tile."""


class slice(_KernelOnly):
    """A `:` in a subscript."""


class constexpr_type(_KernelOnly):
    """The type of a compile-time value."""


class tensor_descriptor_base(_KernelOnly):
    """A tensor descriptor, whoever made it."""


class tensor_descriptor_type(_KernelOnly):
    """The type of a tensor descriptor."""


class tuple(_KernelOnly):
    """A tuple of run-time and compile-time values."""


CLASSES = {
    known.__name__: known
    for known in (
        tensor,
        tensor_descriptor,
        tensor_descriptor_base,
        tensor_descriptor_type,
        slice,
        tuple,
        constexpr_type,
    )
}
