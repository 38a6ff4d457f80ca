"""Names that only NVIDIA's GPUs have."""

from ...names import CUDA, Builtin
from . import libdevice

globals().update({name: Builtin(name, "cuda") for name in CUDA})

from . import gdc, utils  # noqa: E402  (they take their names from here)

__all__ = [*CUDA, "gdc", "libdevice", "utils"]
