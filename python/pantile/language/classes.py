"""Classes of values that kernels handle: for annotations, `isinstance`, and types on the host."""

import builtins

from .constexpr import constexpr, constexpr_type
from .dtypes import base_type, base_value
from .names import DESCRIPTOR_METHODS, TENSOR_METHODS, Builtin, LanguageClass


class _KernelOnly(base_value, metaclass=LanguageClass):
    def __init__(self, *_, **__):
        raise RuntimeError(f"`tl.{type(self).__name__}` has objects only inside a kernel")


class tensor(_KernelOnly):
    """A scalar or tile that a kernel computes."""

    dtype = shape = numel = T = handle = None  # of objects, which only kernels have


class tensor_descriptor_base(_KernelOnly):
    """A tensor descriptor, made on the host or by a kernel."""

    dtype = block_type = block_shape = handle = None


class tensor_descriptor(tensor_descriptor_base):
    """A tensor in memory that a kernel reads and writes tile by tile."""

    shape = strides = None


for _name in TENSOR_METHODS:
    setattr(tensor, _name, Builtin(_name))
for _name in DESCRIPTOR_METHODS:
    setattr(tensor_descriptor_base, _name, Builtin(_name, "desc"))


class slice_type(base_type, metaclass=LanguageClass):
    """The type of a `:` in a subscript."""

    name = "slice_type"

    def __eq__(self, other):
        return isinstance(other, slice_type)

    def __hash__(self):
        return hash(self.name)


class slice(metaclass=LanguageClass):
    """A `:` in a subscript, with its three parts."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step
        self.type = slice_type()


class tuple_type(base_type, metaclass=LanguageClass):
    """The type of a tuple: the types of its elements, and their names where it is a named one."""

    def __init__(self, types, fields=None):
        self.types = [*types]
        self.fields = [*fields] if fields else [""] * len(self.types)
        pairs = zip(self.fields, self.types)
        self.name = f"[{','.join(f'{field}:{kind}' for field, kind in pairs)}]"

    def mangle(self):
        return f"T{'_'.join(kind.mangle() for kind in self.types)}T"

    def __iter__(self):
        return iter(self.types)

    def __getitem__(self, index):
        return self.types[index]

    def __len__(self):
        return len(self.types)

    def __eq__(self, other):
        return isinstance(other, tuple_type) and (self.types, self.fields) == (
            other.types,
            other.fields,
        )

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name


def _type_of(value):
    found = getattr(value, "type", None)
    return found if isinstance(found, base_type) else constexpr_type(value)


class tuple(builtins.tuple, metaclass=LanguageClass):
    """A tuple of run-time and compile-time values; on the host a tuple of what it is given."""

    def __new__(cls, args=(), type=None):
        self = super().__new__(cls, args)
        if type is not None and not isinstance(type, tuple_type):
            type = tuple_type(type)
        self.type = type or tuple_type([_type_of(value) for value in self])
        return self

    @property
    def values(self):
        """The elements, as a list."""
        return [*self]

    def __getattr__(self, name):
        fields = self.__dict__["type"].fields if "type" in self.__dict__ else []
        if not name or name not in fields:
            raise AttributeError(f"the tuple has no field `{name}`")
        return self[fields.index(name)]

    def __getitem__(self, index):
        index = index.value if isinstance(index, constexpr) else index
        if isinstance(index, slice):
            parts = (index.start, index.stop, index.step)
            index = builtins.slice(*(getattr(part, "value", part) for part in parts))
        found = super().__getitem__(index)
        return tuple(found) if isinstance(index, builtins.slice) else found

    def __add__(self, other):
        return tuple([*self, *other])

    def __mul__(self, count):
        return tuple([*self] * getattr(count, "value", count))


class tensor_descriptor_base_type(base_type, metaclass=LanguageClass):
    """The type of a tensor descriptor: that of the tiles that it reads and writes."""

    def __init__(self, block_type):
        self.block_type = block_type

    def mangle(self):
        return f"TD{self.block_type.mangle()}"

    def __eq__(self, other):
        return type(self) is type(other) and self.block_type == other.block_type

    def __hash__(self):
        return hash(self.block_type)

    def __repr__(self):
        return f"tensor_descriptor_type<{self.block_type}>"


class tensor_descriptor_type(tensor_descriptor_base_type):
    """The type of a tensor descriptor with those of its shape and strides, two tuple_types."""

    def __init__(self, block_type, shape_type=None, strides_type=None):
        super().__init__(block_type)
        self.shape_type, self.strides_type = shape_type, strides_type

    def __eq__(self, other):
        return super().__eq__(other) and (self.shape_type, self.strides_type) == (
            other.shape_type,
            other.strides_type,
        )

    __hash__ = tensor_descriptor_base_type.__hash__


CLASSES = {
    known.__name__: known
    for known in (
        tensor,
        tensor_descriptor,
        tensor_descriptor_base,
        tensor_descriptor_base_type,
        tensor_descriptor_type,
        slice,
        slice_type,
        tuple,
        tuple_type,
        constexpr_type,
    )
}
