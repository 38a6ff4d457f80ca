"""What compiled kernels took from Python, and whether a launch would still take the same.

A kernel is compiled from the values that its names had then. Where they changed since, in place or
by assignment, the next launch raises RuntimeError, as in Triton:

- a name that kernels read: a constant, a list or tuple of such, a jit function, a captured
  variable, an attribute of a class or module;
- data that a constexpr function reads: then its calls are made again, and only other results count.

A launch compares identities alone, in the extension module; what is here runs where one differs.
What a constexpr function takes from elsewhere (files, the clock, elements of arrays) counts once a
process: the cache makes the calls again in the next one.
"""

import enum
import functools
import os
import sys
import types

from ..language.constexpr import constexpr
from ..language.dtypes import dtype
from .callables import ConstexprFunction, JITCallable
from .scope import MISSING, PLAIN

_UNKNOWN = (None, None, None)  # a place that always counts as changed


def look_up(space, name):
    """Return what a dict or a class has under `name`, or a cell holds; MISSING if nothing."""
    if isinstance(space, types.CellType):
        try:
            return space.cell_contents
        except ValueError:
            return MISSING
    if isinstance(space, type):
        return next((vars(base)[name] for base in space.__mro__ if name in vars(base)), MISSING)
    return space.get(name, MISSING)


def _place(space, name, held):
    return (space, None if isinstance(space, types.CellType) else name, held)


def _contents(container):
    """The place of all that a list, a dict or a set holds."""
    if isinstance(container, dict):
        return (container, None, tuple(part for item in container.items() for part in item))
    return (container, None, tuple(container))


class GlobalUse:
    """A value that a kernel read under a name, where it was found, and what it was then."""

    def __init__(self, function, name, namespace, value):
        self.function, self.name, self.namespace = function, name, namespace
        self.value = _frozen(value)
        self._set_places(value)

    @property
    def key(self):
        return (self.name, id(self.namespace))

    def _set_places(self, value):
        self.places = [_place(self.namespace, self.name, value)]
        rest = [value]
        while rest:
            value = rest.pop()
            value = value.value if isinstance(value, constexpr) else value
            if isinstance(value, list):
                self.places.append(_contents(value))
            if isinstance(value, (list, tuple)):
                rest.extend(value)

    def check(self):
        """Raise RuntimeError if the value is another one now; return whether places changed."""
        if not _any_changed(self.places):
            return False
        now = look_up(self.namespace, self.name)
        if not _is_same(now, self.value):
            shown = "no value" if now is MISSING else f"value {now!r}"
            raise RuntimeError(
                f"Global variable {self.name} has {shown}, but when kernel {self.function} was first compiled it "
                f"had value {self.value!r}"
            )
        self._set_places(now)
        return True


class HostUse:
    """A constexpr function whose results are in kernels, and the data that it reads."""

    def __init__(self, function, snapshot):
        self.function, self._snapshots = function, [snapshot]
        self.places = Reads(function.fn).places

    @property
    def key(self):
        return id(self.function)

    def add(self, other):
        """Take over the calls that were made for another kernel."""
        self._snapshots += other._snapshots

    def check(self):
        """Raise RuntimeError if a call has another result now; return whether places changed."""
        if not _any_changed(self.places):
            return False
        for snapshot in self._snapshots:
            snapshot.repeat_calls(self.function)
        self.places = Reads(self.function.fn).places
        return True


def _any_changed(places):
    from .. import _pantile

    return any(_pantile.has_changed(place) for place in places)


def _frozen(value):
    """`value` with copies of the lists in it."""
    if isinstance(value, constexpr):
        held = _frozen(value.value)
        return value if held is value.value else constexpr(held)
    if isinstance(value, list):
        return [_frozen(element) for element in value]
    if isinstance(value, tuple):
        elements = [_frozen(element) for element in value]
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    return value


def _is_same(now, then):
    """Whether a kernel that read `then` would be the same with `now`."""
    if now is then:
        return True
    if type(now) is not type(then):
        return False
    if isinstance(now, constexpr):
        return _is_same(now.value, then.value)
    if isinstance(now, (list, tuple)):
        return len(now) == len(then) and all(map(_is_same, now, then))
    if isinstance(now, JITCallable) and not isinstance(now, ConstexprFunction):
        return now.cache_key == then.cache_key
    if isinstance(now, float):
        return now.hex() == then.hex()
    if isinstance(now, complex):
        return _is_same(now.real, then.real) and _is_same(now.imag, then.imag)
    if hasattr(now, "item") and not hasattr(now, "__len__"):
        return _is_same(now.item(), then.item())
    return isinstance(now, (*PLAIN, dtype)) and now == then


class Reads:
    """The data that a Python function and those that it calls may read: places, as far as names lead.

    Followed are names, closures, defaults, attributes of modules and classes, objects' attributes,
    and the elements of containers; `os.environ` where it is named. Functions and modules of installed
    packages are not followed, but for those of the function's own.
    """

    _MOST_ELEMENTS = 4096

    def __init__(self, function):
        self.places, self._seen, self._elements = [], set(), 0
        self._home = _package(function.__module__)
        self._function(function)

    def _function(self, function):
        names = _names_of(function.__code__)
        for name in sorted(names & function.__globals__.keys()):
            self._read(function.__globals__, name, names)
        for cell in function.__closure__ or ():
            self._read(cell, "", names)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._value(default, names)

    def _read(self, space, name, names):
        value = look_up(space, name)
        if value is MISSING or (id(space), name) in self._seen:
            return
        self._seen.add((id(space), name))
        if not isinstance(value, types.ModuleType):
            self.places.append(_place(space, name, value))
        self._value(value, names)

    def _value(self, value, names):
        if value is os.environ or value is os.getenv:
            return self._container(os.environ._data, names)
        if isinstance(value, types.ModuleType):
            return self._module(value, names)
        if isinstance(value, type):
            return self._attributes(value, value.__module__, names)
        if id(value) in self._seen or isinstance(value, (*PLAIN, bytes, enum.Enum)):
            return None
        self._seen.add(id(value))
        if isinstance(value, (staticmethod, classmethod, types.MethodType)):
            self._value(getattr(value, "__self__", None), names)
            return self._value(value.__func__, names)
        if isinstance(value, ConstexprFunction):
            value = value.fn
        if isinstance(value, JITCallable):
            return None  # kernels watch theirs
        if isinstance(value, types.FunctionType):
            return self._function(value) if self._follows(value.__module__) else None
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            return self._container(value, names)
        return self._object(value, names)

    def _module(self, module, names):
        if module is os:
            if names & {"environ", "environb", "getenv", "getenvb"}:
                self._container(os.environ._data, names)
        else:
            self._attributes(vars(module), module.__name__, names)

    def _attributes(self, space, module, names):
        if self._follows(module):
            for name in sorted(names):
                self._read(space, name, names)

    def _container(self, container, names):
        self._seen.add(id(container))
        self._elements += len(container)
        if self._elements > self._MOST_ELEMENTS:
            self.places = [_UNKNOWN]
            return
        place = _contents(container)
        if not isinstance(container, (tuple, frozenset)):
            self.places.append(place)
        for element in place[2]:
            self._value(element, names)

    def _object(self, value, names):
        try:
            attributes = object.__getattribute__(value, "__dict__")  # runs no `__getattr__`
        except AttributeError:
            return
        if type(attributes) is not dict:
            return
        if self._follows(type(value).__module__):
            self._container(attributes, names)
            self._value(type(value), names)
        for name in sorted(names & attributes.keys()):
            self._read(attributes, name, names)

    def _follows(self, module):
        package = _package(module)
        ours = package in ("pantile", "triton")
        return not ours and (package == self._home or not _is_installed(module))


def _package(module):
    return module.partition(".")[0] if isinstance(module, str) else ""


@functools.cache
def _is_installed(module):
    """Whether a module is one of Python's or of an installed package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module in sys.builtin_module_names
    return "site-packages" in file or "dist-packages" in file or file.startswith(_STANDARD)


_STANDARD = os.path.dirname(os.__file__) + os.sep


def _names_of(code):
    """All names that a piece of code and the functions written in it mention."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names
