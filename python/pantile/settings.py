"""How settings are read: from the environment on access, unless an attribute overrides it.

Settings that the compiled library reads from the environment itself are exported: an override, or
a value under Triton's name, is put there under our name, and taken away when it is dropped.
"""

import os
import sys
from contextlib import contextmanager


def truth(text):
    """Return whether the text of an environment variable means yes."""
    return text.lower() in ("1", "true", "on", "yes", "y")


def flag(*names, default=False):
    """Return whether one of the environment variables `names` is set to a true value."""
    for name in names:
        value = os.environ.get(name)
        if value is not None:
            return truth(value)
    return default


def getenv(name):
    """Return the text of an environment variable, stripped; None if it is not set."""
    value = os.environ.get(name)
    return value if value is None else value.strip()


# What we put into the environment: {variable: (our text, what stood there before)}.
_exports = {}


def _users_value(variable):
    """The text that the user gave an environment variable, not we."""
    text = os.environ.get(variable)
    ours = _exports.get(variable)
    return ours[1] if ours is not None and text == ours[0] else text


def _put(variable, text):
    """Put a text of ours into the environment; None takes ours away."""
    before = _users_value(variable)
    _exports.pop(variable, None)
    if text is None or text == before:
        set_variable(variable, before)
        return
    _exports[variable] = (text, before)
    set_variable(variable, text)


def set_variable(name, value):
    """Set an environment variable; None removes it."""
    if os.environ.get(name) == value:
        return
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value


def _text_of(value):
    if isinstance(value, bool):
        return str(int(value))
    return str(getattr(value, "path", value))


class Env:
    """Assigned to a setting: the environment counts again."""


def propagates():
    """Return whether overrides go into the environment: `knobs.propagate_env`."""
    return getattr(sys.modules.get("pantile.knobs"), "propagate_env", True)


class Setting:
    """A value from the first environment variable that is set. An attribute of the object wins.

    Parameters
    ----------
    names : str
        Environment variables, ours first.
    default : value, or a function of the group
    parse : function of the variable's text
    doc : str
        One line of docs/knobs.md. A setting with `unused` is read and kept, but changes nothing
        here; the text says why.
    exported : bool or str
        The compiled library reads the first variable itself, or this one, which we only write.
    exports_default : str
        The flag of the group under which the library is shown the default too.
    compiled : bool
        Kernels are compiled according to it: with another value they are other kernels.
    """

    def __init__(
        self,
        *names,
        default=None,
        parse=str,
        doc="",
        exported=False,
        unused=False,
        shown=None,
        compiled=False,
        exports_default=None,
    ):
        self.names, self.default, self.parse = names, default, parse
        self.doc, self.exported, self.unused = doc, exported, unused
        self.compiled, self.exports_default = compiled, exports_default
        self.shown = shown  # the default, as the page has it

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, group, owner=None):
        if group is None:
            return self
        if self.name in group.__dict__:
            return group.__dict__[self.name]
        text = self.users_text()
        if text is not None:
            return self.parse(text.strip())
        return self.default(group) if callable(self.default) else self.default

    def __set__(self, group, value):
        if isinstance(value, Env):
            group.__dict__.pop(self.name, None)
            self.export(group)
            return self._update(group)
        group.__dict__[self.name] = value
        self.export(group)
        self._update(group)

    def __delete__(self, group):
        if self.name not in group.__dict__:
            raise AttributeError(f"`{self.name}` has no override")
        del group.__dict__[self.name]
        self.export(group)
        self._update(group)

    def _update(self, group):
        if self.compiled and group.is_live:
            update_compile_settings()

    def users_text(self):
        """Return the text of the first variable that the user has set, or None."""
        return next((v for v in map(_users_value, self.names) if v is not None), None)

    @property
    def key(self):
        """The environment variable under the name that Triton has for it."""
        return self.names[-1]

    def export(self, group):
        """Show the library, and the children of the process, the value, if its group counts."""
        if not group.is_live and type(group) in Group._live:
            return
        value = group.__dict__.get(self.name)
        if self.exported:
            if value is None and self.exports_default and getattr(group, self.exports_default):
                value = getattr(group, self.name)
            variable = self.exported if isinstance(self.exported, str) else self.names[0]
            _put(variable, self.users_text() if value is None else _text_of(value))
        elif isinstance(value, (bool, int, str)) and propagates():
            _put(self.key, _text_of(value))
        elif self.key in _exports:
            _put(self.key, None)


def Flag(*names, default=False, **more):
    """A Setting that is true or false."""
    return Setting(*names, default=default, parse=truth, **more)


class Group:
    """Settings that belong together."""

    _live = {}

    def __init__(self):
        # Python 3.13 reports no change of attributes that it keeps inside of the object.
        self.__dict__ = {}
        self._start()

    def _start(self):
        """Set what is no setting from the environment: hooks."""

    @classmethod
    def make_live(cls):
        """Return the group of this kind whose overrides reach the library."""
        Group._live[cls] = group = cls()
        return group

    @property
    def is_live(self):
        return Group._live.get(type(self)) is self

    @property
    def knobs(self):
        """The values of all settings by name."""
        return {name: getattr(self, name) for name in sorted(self.knob_descriptors)}

    @property
    def knob_descriptors(self):
        return {name: kind for name, kind in vars(type(self)).items() if isinstance(kind, Setting)}

    def copy(self):
        """Return a group of the same kind with the same overrides."""
        result = type(self)()
        result.__dict__.update(self.__dict__)
        return result

    def reset(self):
        """Drop all overrides, so that the environment counts again; return the group."""
        self.__dict__.clear()
        self._start()
        self.export()
        return self

    def export(self):
        """Show the library the values of this group."""
        settings = self.knob_descriptors.values()
        for setting in settings:
            setting.export(self)
        if self.is_live and any(setting.compiled for setting in settings):
            update_compile_settings()

    @contextmanager
    def scope(self):
        """Within the block, overrides and environment may change; after it all is as before."""
        saved = dict(self.__dict__)
        names = [name for kind in self.knob_descriptors.values() for name in kind.names]
        environment = {name: _users_value(name) for name in names}
        try:
            yield self
        finally:
            self.__dict__.clear()
            self.export()
            for name, value in environment.items():
                set_variable(name, value)
            self.__dict__.update(saved)
            self.export()


def update_compile_settings():
    """Pass the settings that kernels are compiled under to launches; return whether they changed.

    Nothing is done before the extension module is loaded. Variables of the environment
    that change later count from the next compilation on.
    """
    module = sys.modules.get("pantile._pantile")
    if module is None:
        return False
    changed = []
    for group in Group._live.values():
        for name, setting in group.knob_descriptors.items():
            if setting.compiled and (value := getattr(group, name)) != setting.default:
                changed.append(f"{name}={value!r}")
    return module.use_settings("|".join(changed))


def export_all():
    """Show the library all settings: those that changed in the environment since as well."""
    for group in Group._live.values():
        group.export()
