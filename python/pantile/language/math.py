"""Element-wise mathematics; what the portable language lacks is libdevice's, as in older releases."""

from . import language_names as _names
from .names import LIBDEVICE, MATH, Builtin

_members = {name: Builtin(name, "libdevice") for name in LIBDEVICE if name not in _names}
_members |= {name: _names[name] for name in MATH}
globals().update(_members)

__all__ = [*MATH]
