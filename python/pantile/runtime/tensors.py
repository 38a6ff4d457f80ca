"""Stand-ins for arrays: a dtype alone, and memory read as another dtype."""

from ..language.constexpr import constexpr
from ..language.dtypes import dtype, pointer_type


class MockTensor:
    """A dtype that stands for an array where nothing is launched: aligned, and nowhere."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, shape or [1]

    @staticmethod
    def wrap_dtype(argument):
        """Return a MockTensor for a dtype of ours or of torch, anything else as it is."""
        if isinstance(argument, constexpr):
            return argument
        if isinstance(argument, pointer_type):
            return MockTensor(argument.element_ty)
        is_dtype = isinstance(argument, dtype) or (
            type(argument).__name__,
            type(argument).__module__,
        ) == (
            "dtype",
            "torch",
        )
        return MockTensor(argument) if is_dtype else argument

    def stride(self):
        """Return the strides of a contiguous array of the shape, in elements."""
        strides = [1]
        for extent in reversed(self.shape[1:]):
            strides.append(strides[-1] * extent)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class TensorWrapper:
    """The memory of `base` read as another dtype."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.device = getattr(base, "device", None)
        self.shape = base.shape

    def data_ptr(self):
        return self.base.data_ptr()

    def stride(self, *args):
        return self.base.stride(*args)

    def element_size(self):
        return self.base.element_size()

    def untyped_storage(self):
        return self.base.untyped_storage()

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """Return `tensor` with its memory read as `dtype`."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if not hasattr(tensor, "data_ptr"):
        raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
    return TensorWrapper(tensor, dtype)
