"""The kernel language: names for use inside functions with `@jit`, and types that the host may use too."""

import importlib

from . import core, math, random, standard, target_info
from .namespace import *  # noqa: F403
from .namespace import __all__ as _names
from .namespace import language_names  # noqa: F401

__all__ = [  # noqa: F405 (some are imported on access)
    *_names,
    "core",
    "extra",
    "libdevice",
    "math",
    "random",
    "standard",
    "target_info",
]


def __getattr__(name):
    # What few kernels use, and what needs the rest of the package, which is imported later.
    if name in ("extra", "libdevice"):
        module = importlib.import_module(f"{__name__}.extra.libdevice")
        globals().update(extra=importlib.import_module(f"{__name__}.extra"), libdevice=module)
        return globals()[name]
    if name == "constexpr_function":
        from ..runtime.callables import constexpr_function

        return constexpr_function
    if name == "semantic":
        return importlib.import_module(f"{__name__}.semantic")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
