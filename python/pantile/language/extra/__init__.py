"""Names beyond the portable language."""

from . import libdevice, cuda  # isort: skip

__all__ = ["cuda", "libdevice"]
