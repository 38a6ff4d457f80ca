"""Tools around kernels."""

from .linear_layout import LinearLayout

__all__ = ["LinearLayout"]
