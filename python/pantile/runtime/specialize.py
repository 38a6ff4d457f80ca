"""What a launch specialises of one argument: its type, and what is assumed of its value.

The dispatcher of the extension module does this for launches. Here it is for libraries that need a
single argument, with the names and results of Triton.
"""

from ..language.constexpr import constexpr
from ..language.dtypes import short_name_of
from .callables import JITCallable


def native_specialize_impl(backend, arg, is_const, specialize_value, align):
    """Return (type, assumption) of a kernel's argument.

    Parameters
    ----------
    backend : BaseBackend
        The class, or one of its objects: answers what is assumed of numbers and addresses.
    arg : object
        An array, a number, a tuple of arguments, a tensor descriptor, a compile-time value or None.
    is_const : bool
        Whether the kernel only reads the array: "*kfp32" for "*fp32".
    specialize_value : bool
        Whether anything is assumed, such as of the integer 1, which then is a constant.
    align : bool
        Whether multiples of 16 are distinguished from others: "D" and "".

    Raises
    ------
    TypeError
        If no kernel takes such an object.
    OverflowError
        If an integer fits neither 64 bits with sign nor without.
    """
    if arg is None:
        return ("constexpr", None)
    if isinstance(arg, bool):
        return ("u1", None)
    if isinstance(arg, int):
        return _of_integer(backend, arg, specialize_value, align)
    if isinstance(arg, float):
        return ("fp32", None)
    if isinstance(arg, JITCallable):
        return ("constexpr", arg.cache_key)
    if isinstance(arg, constexpr):
        return ("constexpr", arg)
    if isinstance(arg, tuple):
        parts = [native_specialize_impl(backend, part, False, True, True) for part in arg]
        return tuple(_of_kind(arg, column) for column in zip(*parts)) or (arg, arg)
    if _is_descriptor(arg):
        return (f"tensordesc<{short_name_of(arg.base.dtype)}{list(arg.block_shape)}>", None)
    if not _is_array(arg):
        raise TypeError(f"failed to specialize argument of type: {_full_name(type(arg))}")
    kind = f"{'*k' if is_const else '*'}{short_name_of(arg.dtype)}"
    if not specialize_value:
        return (kind, None)
    return (kind, backend.get_tensor_specialization(arg, align=align))


def mangle_type(arg, specialize=False):
    """Return the type of an argument that the kernel may write to; see `native_specialize_impl`."""
    from ..backends.compiler import BaseBackend

    return native_specialize_impl(BaseBackend, arg, False, specialize, True)[0]


def _of_integer(backend, value, specialize_value, align):
    if not -(2**63) <= value < 2**64:
        raise OverflowError("integer to be specialized too large to represent")
    if specialize_value and value == 1:
        return ("constexpr", 1)
    kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    return (kind, backend.get_int_specialization(value, align=align) if specialize_value else None)


def _of_kind(model, values):
    return type(model)(*values) if hasattr(model, "_fields") else tuple(values)


def _is_descriptor(arg):
    from ..tools.tensor_descriptor import TensorDescriptor

    return isinstance(arg, TensorDescriptor)


def _is_array(arg):
    # A NumPy number has the array interface too, but takes no assignment.
    return hasattr(arg, "data_ptr") or (
        hasattr(arg, "__setitem__")
        and (hasattr(arg, "__cuda_array_interface__") or hasattr(arg, "__array_interface__"))
    )


def _full_name(kind):
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__name__}"
