"""Functions of NVIDIA's device library."""

from ..names import LIBDEVICE, Builtin

globals().update({name: Builtin(name, "libdevice") for name in LIBDEVICE})

__all__ = [*LIBDEVICE]
