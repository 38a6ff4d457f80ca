"""What the compiler learns of the classes whose objects kernels handle: named tuples and aggregates."""

from ..language.aggregate import has_written_constructor, is_constexpr_annotation
from .callables import JITCallable, MemberFunction

_constructors = {}


def is_kernel_class(value):
    """Return whether `value` is a NamedTuple class or an aggregate."""
    if not isinstance(value, type):
        return False
    is_named_tuple = issubclass(value, tuple) and isinstance(getattr(value, "_fields", None), tuple)
    return is_named_tuple or "__triton_aggregate__" in vars(value)


def make_object(cls, names, values):
    """Return an object of a class of `is_kernel_class` with these fields, without its constructor."""
    if issubclass(cls, tuple):
        return cls(*values)
    result = object.__new__(cls)
    for name, value in zip(names, values):
        object.__setattr__(result, name, value)
    return result


def describe_class(cls, convert):
    """Return the description of a class that `_pantile.Program` takes.

    `convert` gives the compiler's form of a value, and None for what has none.
    """
    is_aggregate = "__triton_aggregate__" in vars(cls)
    functions, static, properties = _functions(cls)
    members = {name: convert(function) for name, function in functions.items()}
    members.update(_constants(cls, convert))
    if is_aggregate and has_written_constructor(cls):
        members["__init__"] = convert(_constructor(cls))
    return {
        "name": cls.__name__,
        "is_aggregate": is_aggregate,
        "fields": _aggregate_fields(cls, convert) if is_aggregate else _tuple_fields(cls, convert),
        "members": members,
        "static_members": static,
        "properties": properties,
    }


def _constructor(cls):
    """The class's `__init__` as a function of the kernel language, one object a class."""
    init = cls.__init__
    if isinstance(init, JITCallable):
        init = init.fn
    if init not in _constructors:
        _constructors[init] = MemberFunction(init)
    return _constructors[init]


def _aggregate_fields(cls, convert):
    return [
        (name, is_constexpr, convert(getattr(cls, name)))
        if hasattr(cls, name)
        else (name, is_constexpr)
        for name, is_constexpr in cls.__triton_aggregate__
    ]


def _tuple_fields(cls, convert):
    annotations = getattr(cls, "__annotations__", {})
    fields = []
    for name in cls._fields:
        field = (name, is_constexpr_annotation(annotations.get(name)))
        if name in cls._field_defaults:
            field += (convert(cls._field_defaults[name]),)
        fields.append(field)
    return fields


def _own(cls):
    """The attributes of the class and of those it derives from, but for Python's own."""
    found = {}
    for base in reversed(cls.__mro__):
        if base not in (object, tuple):
            found.update(vars(base))
    return found


def _functions(cls):
    functions, static, properties = {}, [], []
    for name, member in _own(cls).items():
        if isinstance(member, staticmethod):
            static.append(name)
            member = member.__func__
        elif isinstance(member, property):
            properties.append(name)
            member = member.fget
            if not isinstance(member, JITCallable):
                member = MemberFunction(member) if name not in dir(tuple) else None
        if isinstance(member, JITCallable):
            functions[name] = member
    return (
        functions,
        [name for name in static if name in functions],
        [name for name in properties if name in functions],
    )


def _constants(cls, convert):
    """Class attributes that are compile-time values."""
    fields = {name for name, *_ in getattr(cls, "__triton_aggregate__", ())}
    fields |= set(getattr(cls, "_fields", ()))
    found = {}
    for name, member in _own(cls).items():
        if name.startswith("_") or name in fields or callable(member):
            continue
        value = convert(member)
        if value is not None and not isinstance(member, (property, staticmethod, classmethod)):
            found[name] = value
    return found
