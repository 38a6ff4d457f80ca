"""Types from the strings that signatures are written in."""

from .classes import constexpr_type, tensor_descriptor_type, tuple_type
from .dtypes import TYPES, block_type, dtype, pointer_type


def str_to_ty(name, c):
    """Return the type that a text of a signature stands for.

    name: "fp16", "i32", "u1", "*fp32", "*ki8", "constexpr", "tensordesc<fp16[64, 32]>", or a tuple
    of such, which may be a named one. c: the value of a constexpr. Raises KeyError for other strings.
    """
    if isinstance(name, tuple):
        return tuple_type([str_to_ty(part, c) for part in name], getattr(name, "_fields", None))
    if name.startswith("*"):
        is_const = name.startswith("*k")
        return pointer_type(str_to_ty(name[1 + is_const :], c), const=is_const)
    if name.startswith("tensordesc"):
        return _descriptor(name)
    if name.startswith("constexpr"):
        return constexpr_type(c)
    short = dtype.by_long_name(name)
    if not short:
        raise KeyError(name)
    return dtype(short)


def _descriptor(name):
    inner = name.partition("<")[2].rpartition(">")[0]
    element, _, rest = inner.partition("[")
    shape = [int(extent) for extent in rest.partition("]")[0].split(",")]
    shape_type = tuple_type([TYPES["int32"]] * len(shape))
    strides_type = tuple_type([TYPES["int64"]] * len(shape))
    return tensor_descriptor_type(
        block_type(str_to_ty(element, None), shape), shape_type, strides_type
    )
