"""Tools around kernels."""

from .linear_layout import LinearLayout

__all__ = ["LinearLayout"]


def __getattr__(name):
    # Triton's module is there without an import of its own, too.
    if name != "disasm":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
