"""Compile-time values on the host: annotation, wrapper of globals, and arithmetic as of the value inside."""

import operator

from .dtypes import base_type, base_value
from .names import LanguageClass


def _plain(value):
    return value.value if isinstance(value, constexpr) else value


class constexpr_type(base_type, metaclass=LanguageClass):
    """The type of a compile-time value: the value itself."""

    def __init__(self, value):
        self.value = value

    def mangle(self):
        return repr(self)

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and bool(self.value == other.value)

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"constexpr_type[{self.value}]"


class constexpr(base_value):
    """A value that kernels may use at compile time."""

    def __init__(self, value):
        self.value = _plain(value)

    @property
    def type(self):
        """The constexpr_type of the value."""
        return constexpr_type(self.value)

    @property
    def _pantile_key(self):
        return (
            f"{type(self.value).__name__}:{getattr(self.value, '_pantile_key', repr(self.value))}"
        )

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash(self.value)

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return operator.index(self.value)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def __getitem__(self, index):
        return self.value[_plain(index)]

    def __iter__(self):
        return iter(self.value)

    def __not__(self):
        return constexpr(not self.value)

    def __neg__(self):
        return constexpr(-self.value)

    def __pos__(self):
        return constexpr(+self.value)

    def __invert__(self):
        return constexpr(~self.value)

    def logical_and(self, other):
        return constexpr(self.value and _plain(other))

    def logical_or(self, other):
        return constexpr(self.value or _plain(other))


def _binary(function):
    def method(self, other):
        return constexpr(function(self.value, _plain(other)))

    return method


def _reflected(function):
    def method(self, other):
        return constexpr(function(_plain(other), self.value))

    return method


for _name in "add sub mul truediv floordiv mod pow lshift rshift and or xor".split():
    _function = getattr(operator, f"__{_name}__")
    setattr(constexpr, f"__{_name}__", _binary(_function))
    setattr(constexpr, f"__r{_name}__", _reflected(_function))
for _name in "eq ne lt le gt ge".split():
    setattr(constexpr, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))


class const:
    """As an annotation: a pointer that the kernel only reads."""

    _pantile_key = "builtin:const"
