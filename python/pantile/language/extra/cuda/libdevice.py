"""Functions of NVIDIA's device library."""

from .. import libdevice as _libdevice

__all__ = list(_libdevice.__all__)
globals().update({name: getattr(_libdevice, name) for name in __all__})
