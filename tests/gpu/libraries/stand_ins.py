"""Stand-ins for modules that Triton kernels of a library do not need, but importing them does.

vLLM and SGLang import their configuration, their communication and compiled extensions with every
module. Where the machine lacks what these import, an object that accepts everything takes their
place. Modules with Triton kernels are never replaced.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from unittest import mock


class Module(types.ModuleType):
    """A module that has every name."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Named(name, (_Anything,), {}) if name[:1].isupper() else _anything(name)
        setattr(self, name, value)
        return value


def _anything(name):
    """Make a function that returns the function it decorates, and else an object with every name."""

    def call(*args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]
        return mock.MagicMock(name=name)

    return call


class _Named(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=name)


class _Anything(metaclass=_Named):
    """A class that can be subclassed, called and asked for every attribute."""

    def __init__(self, *_, **__):
        pass

    def __init_subclass__(cls, **_):
        pass

    def __class_getitem__(cls, _):
        return cls


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the names, and all below them."""

    def __init__(self, names):
        self.names = tuple(names)

    def find_spec(self, name, path=None, target=None):
        if any(name == n or name.startswith(n + ".") for n in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


def is_there(name):
    """Return whether a top-level package can be imported."""
    return name in sys.modules or importlib.util.find_spec(name) is not None


def stand_in(*names, where_missing=()):
    """Replace modules of these names, and those of `where_missing` that are not installed."""
    names = (*names, *(name for name in where_missing if not is_there(name)))
    sys.meta_path.insert(0, Finder(names))


def bare_package(name, folder):
    """Have `import name` give the package at `folder` without running its `__init__.py`."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = package
