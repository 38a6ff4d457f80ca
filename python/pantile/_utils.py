"""Names of types, and paths into nested tuples, under the name that libraries import from Triton."""

import functools

from .language.classes import tuple_type
from .language.dtypes import SHORT_NAMES, dtype, short_name_of
from .language.host_functions import validate_block_shape
from .language.namespace import TRITON_MAX_TENSOR_NUMEL

__all__ = [
    "BITWIDTH_DICT",
    "TRITON_MAX_TENSOR_NUMEL",
    "canonicalize_dtype",
    "canonicalize_ptr_dtype",
    "find_paths_if",
    "get_iterable_path",
    "get_primitive_bitwidth",
    "is_namedtuple",
    "is_power_of_two",
    "type_canonicalisation_dict",
    "validate_block_shape",
]

# The short name of each name of a type, also of torch's and NumPy's; a bool is "u1".
type_canonicalisation_dict = dict(SHORT_NAMES)
# Bits of an element, by any of those names.
BITWIDTH_DICT = {
    name: 1 if short == "u1" else dtype(short).primitive_bitwidth
    for name, short in type_canonicalisation_dict.items()
}


def canonicalize_dtype(dtype):
    """Return the short name of an element type of ours, torch's or NumPy's; KeyError for another."""
    return short_name_of(dtype)


def canonicalize_ptr_dtype(dtype, is_const):
    """Return the short name of pointers to an element type: "*fp32", "*kfp32" for reading only."""
    return f"{'*k' if is_const else '*'}{canonicalize_dtype(dtype)}"


def get_primitive_bitwidth(dtype):
    """Return the bits of an element of a type's name; KeyError for no such name."""
    return BITWIDTH_DICT[dtype]


def is_power_of_two(x):
    """Return whether an integer is a power of two, or 0."""
    return x & (x - 1) == 0


def is_namedtuple(val):
    """Return whether `val` is a class of named tuples."""
    return isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields")


def get_iterable_path(iterable, path):
    """Return what stands at `path`, the positions from the outermost sequence to the innermost."""
    return functools.reduce(lambda part, position: part[position], path, iterable)


def find_paths_if(iterable, pred):
    """Return the paths, in order, of those values in nested sequences for which `pred` holds.

    `pred(path, value)` sees the values that are no list and no tuple themselves; a value that is
    not in a sequence has the empty path.
    """
    found = []

    def walk(path, value):
        if isinstance(value, (list, tuple, tuple_type)):
            for position, part in enumerate(value):
                walk((*path, position), part)
        elif pred(path, value):
            found.append(path)

    walk((), iterable)
    return found
