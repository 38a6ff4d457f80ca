"""Settings of one environment variable each, under the names of Triton's: for groups that libraries add.

`class my_knobs(knobs.base_knobs): fast = knobs.env_bool("MY_FAST")`.
"""

import importlib
import os

from .settings import Setting, flag, propagates, set_variable
from .toolkit import tool_setting


def getenv_bool(name, default=False):
    """Return whether an environment variable is set to a true value; `default` if it is not set."""
    return flag(name, default=default)


def toenv(val):
    """Return a tuple of the text that a setting's value has in the environment, None for no text."""
    if val is None:
        return (None,)
    if isinstance(val, (bool, int, str)):
        return (str(int(val)) if isinstance(val, bool) else str(val),)
    return None


def setenv(key, value):
    """Set an environment variable, or remove it for None, unless `knobs.propagate_env` is False."""
    if propagates():
        set_variable(key, value)


class env_base(Setting):
    """A setting that reads one environment variable, `key`."""

    def __init__(self, key, default=None, **more):
        super().__init__(key, default=default, **more)

    def get(self):
        """Return what the environment says, or the default."""
        text = os.environ.get(self.key)
        if text is not None:
            return self.parse(text.strip())
        return self.default(None) if callable(self.default) else self.default

    def transform(self, val):
        """Return what the group shows for what was assigned: the same."""
        return val


class env_str(env_base):
    """A text."""

    def __init__(self, key, default):
        super().__init__(key, default)


class env_str_callable_default(env_base):
    """A string whose default is computed on access."""

    def __init__(self, key, default_factory):
        super().__init__(key, lambda _: default_factory())
        self.default_factory = default_factory


class env_bool(env_base):
    """True for "1", "true", "on", "yes" and "y"."""

    def __init__(self, key, default=False):
        super().__init__(key, default, parse=lambda text: text.lower() in _TRUE)


class env_int(env_base):
    """An integer; RuntimeError for a text that is none."""

    def __init__(self, key, default=0):
        super().__init__(key, default, parse=self._int)

    def _int(self, text):
        try:
            return int(text)
        except ValueError as error:
            raise RuntimeError(f"Unable to use {self.key}={text}: expected int") from error


class env_opt_str(env_base):
    """A text, or None."""


class env_opt_bool(env_base):
    """True, False, or None where the variable is not set."""

    def __init__(self, key):
        super().__init__(key, None, parse=lambda text: text.lower() in _TRUE)


class env_class(env_base):
    """A class named "module:name", or None; RuntimeError unless it is or derives from `type`, a name."""

    def __init__(self, key, type):
        super().__init__(key, None, parse=self._find)
        self.type = type

    def _find(self, text):
        module, colon, name = text.partition(":")
        if not colon:
            raise RuntimeError(
                f"Unable to read {self.key}: '{text}' isn't of the form MODULE:CLASS"
            )
        found = getattr(importlib.import_module(module), name)
        if not any(base.__name__ == self.type for base in found.__mro__):
            raise RuntimeError(f"Unable to use '{text}' from {self.key}: not of type '{self.type}'")
        return found


def env_nvidia_tool(binary):
    """Return a setting that holds a program of the CUDA toolkit, an NvidiaTool."""
    return tool_setting(binary, f"TRITON_{binary.upper().replace('-', '_')}_PATH")


_TRUE = ("1", "true", "on", "yes", "y")
