"""Names that only NVIDIA's GPUs have, as objects."""

from .names import CUDA, Builtin

globals().update({name: Builtin(name, "cuda") for name in CUDA})

__all__ = [*CUDA]
