"""Classes whose objects kernels make and pass around: `@triton.aggregate`."""

import itertools

from .constexpr import constexpr

_numbers = itertools.count()


def is_constexpr_annotation(annotation):
    """Return whether an annotation, an object or its text, says that a field is a compile-time value."""
    if isinstance(annotation, str):
        return annotation.strip("\"'").rpartition(".")[2] == "constexpr"
    return annotation is constexpr


def aggregate(cls):
    """Make a class with annotated fields usable in kernels.

    Its `__init__`, which sets every field, is compiled: run-time values may go into fields, and
    fields annotated `tl.constexpr` hold compile-time values. Without `__init__` the fields are
    given in order or by name. Methods are `@triton.jit` or `@triton.constexpr_function`. On the
    host the class is what it was; its objects may be arguments of kernels.

    Parameters
    ----------
    cls : class
        Its annotations, and those of its bases, are the fields.

    Raises
    ------
    TypeError
        For a class without annotations.
    """
    annotations = {}
    for base in reversed(cls.__mro__):
        annotations.update(vars(base).get("__annotations__", {}))
    if not annotations:
        raise TypeError(f"the aggregate `{cls.__name__}` annotates no fields")
    cls.__triton_aggregate__ = tuple(
        (name, is_constexpr_annotation(annotation)) for name, annotation in annotations.items()
    )
    cls._pantile_key = f"aggregate#{next(_numbers)}"
    if "__init__" not in vars(cls) and cls.__init__ is object.__init__:
        cls.__init__ = _set_fields
    return cls


def _set_fields(self, *args, **kwargs):
    names = [name for name, _ in self.__triton_aggregate__]
    if len(args) > len(names):
        raise TypeError(f"`{type(self).__name__}` has {len(names)} fields, got {len(args)} values")
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names or name in given:
            raise TypeError(f"`{type(self).__name__}` got an unexpected value for `{name}`")
        given[name] = value
    for name in names:
        if name in given:
            setattr(self, name, given[name])
        elif not hasattr(type(self), name):
            raise TypeError(f"`{type(self).__name__}` lacks a value for `{name}`")


def has_written_constructor(cls):
    """Return whether an aggregate has an `__init__` of its own."""
    return cls.__init__ is not _set_fields
