"""Stand-ins for arrays: a dtype alone, and memory read as another dtype."""

from ..language.constexpr import constexpr
from ..language.dtypes import dtype, pointer_type


class MockTensor:
    """A dtype that stands for an array where nothing is launched: aligned, and nowhere.

    Parameters
    ----------
    dtype : tl.dtype or torch.dtype
        The element type.
    shape : list of int, optional
        The extents; None: one element.
    """

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, shape or [1]

    @staticmethod
    def wrap_dtype(arg):
        """Return a MockTensor for a dtype of ours or of torch, anything else as it is.

        Parameters
        ----------
        arg : any
            An argument of a warm-up.
        """
        if isinstance(arg, constexpr):
            return arg
        if isinstance(arg, pointer_type):
            return MockTensor(arg.element_ty)
        is_dtype = isinstance(arg, dtype) or (
            type(arg).__name__,
            type(arg).__module__,
        ) == (
            "dtype",
            "torch",
        )
        return MockTensor(arg) if is_dtype else arg

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


class _HostMemory:
    """The memory that a NumPy array is a view of, as torch shows storage."""

    def __init__(self, array):
        while getattr(array, "base", None) is not None and hasattr(array.base, "nbytes"):
            array = array.base
        self._array = array

    def data_ptr(self):
        return self._array.__array_interface__["data"][0]

    def nbytes(self):
        return self._array.nbytes


def address_of(array):
    """Return the address of an array's first element, by what torch, CuPy or NumPy show of it."""
    if hasattr(array, "data_ptr"):
        return array.data_ptr()
    for name in ("__cuda_array_interface__", "__array_interface__"):
        if hasattr(array, name):
            return getattr(array, name)["data"][0]
    raise TypeError(f"an object of type `{type(array).__name__}` shows no address")


class TensorWrapper:
    """The memory of an array, read as another dtype; `reinterpret` makes it.

    Parameters
    ----------
    base : array
        Of torch or NumPy.
    dtype : tl.dtype
        The element type that kernels see.
    """

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.device = getattr(base, "device", "cpu")
        self.shape = base.shape

    def data_ptr(self):
        """Return the address of the first element."""
        return address_of(self.base)

    def stride(self, *args):
        """Return the strides in elements, or that of one dimension.

        Parameters
        ----------
        args : int
            A dimension; none: all of them.
        """
        if hasattr(self.base, "stride"):
            return self.base.stride(*args)
        strides = tuple(stride // self.base.itemsize for stride in self.base.strides)
        return strides[args[0]] if args else strides

    def element_size(self):
        """Return the bytes of an element of `base`."""
        base = self.base
        return base.element_size() if hasattr(base, "element_size") else base.itemsize

    def untyped_storage(self):
        """Return the memory that `base` is a view of, with `data_ptr()` and `nbytes()`."""
        if hasattr(self.base, "untyped_storage"):
            return self.base.untyped_storage()
        return _HostMemory(self.base)

    @property
    def data(self):
        """The array itself."""
        return self.base

    def cpu(self):
        """Return a copy on the host, read in the same way."""
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device):
        """Return a copy on a device, read in the same way.

        Parameters
        ----------
        device : torch.device or str
            The device.
        """
        return TensorWrapper(self.base.to(device), self.dtype)

    def clone(self):
        """Return a copy, read in the same way."""
        return TensorWrapper(self.base.clone(), self.dtype)

    def copy_(self, other):
        """Overwrite the elements with those of another wrapper.

        Parameters
        ----------
        other : TensorWrapper
            Of the same shape.
        """
        self.base.copy_(other.base)

    def new_empty(self, sizes):
        """Return an array of other extents on the same device, read in the same way.

        Parameters
        ----------
        sizes : tuple of int
            The extents.
        """
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """Return an array as an argument of kernels that reads its memory as another type.

    Parameters
    ----------
    tensor : array
        Of torch or NumPy, or what `reinterpret` gave: of that the array itself is returned if `dtype`
        is its own.
    dtype : tl.dtype
        The element type that kernels see, such as `tl.float8e5`.

    Raises
    ------
    TypeError
        For what has neither `data_ptr` nor `__array_interface__`.
    """
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if not hasattr(tensor, "data_ptr") and not hasattr(tensor, "__array_interface__"):
        raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
    return TensorWrapper(tensor, dtype)
