"""Element-wise mathematics."""

from . import language_names as _names
from .names import MATH, Builtin

_members = {name: _names.get(name) or Builtin(name, "math") for name in MATH}
globals().update(_members)

__all__ = [*_members]
