"""Element-wise mathematics; what the portable language lacks is libdevice's, as in older releases."""

from .names import LIBDEVICE, MATH, Builtin
from .namespace import language_names as _names

globals().update({name: _names[name] for name in MATH})

__all__ = [*MATH]


def __getattr__(name):
    if name not in LIBDEVICE or name in _names:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return globals().setdefault(name, Builtin(name, "libdevice"))
