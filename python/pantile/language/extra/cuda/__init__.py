"""Names that only NVIDIA's GPUs have."""

from ...names import CUDA, Builtin
from . import libdevice

globals().update({name: Builtin(name, "cuda") for name in CUDA})

__all__ = [*CUDA, "libdevice"]
