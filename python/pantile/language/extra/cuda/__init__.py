"""Names that only NVIDIA's GPUs have."""

from ...cuda_names import *  # noqa: F403
from ...cuda_names import __all__ as _names
from . import gdc, libdevice, utils

__all__ = [*_names, "gdc", "libdevice", "utils"]
