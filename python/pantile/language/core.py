"""Triton's import path of the language's names."""

from .constexpr import constexpr
from .dtypes import base_type, base_value
from .host_functions import (
    _unwrap_if_constexpr,  # noqa: F401
    _unwrap_shape,  # noqa: F401
    get_primitive_bitwidth,
    is_builtin,
    is_negative_zero,
    must_use_result,
    validate_block_shape,
)
from .namespace import *  # noqa: F403
from .namespace import __all__ as _names

CONSTEXPR_0 = constexpr(0)

__all__ = [  # noqa: F405 (some are imported on access)
    *_names,
    "CONSTEXPR_0",
    "base_type",
    "base_value",
    "builtin",
    "extern",
    "get_primitive_bitwidth",
    "is_builtin",
    "is_negative_zero",
    "must_use_result",
    "validate_block_shape",
]


def __getattr__(name):
    # What needs the rest of the package, which is imported later.
    if name in ("builtin", "extern"):
        from ..runtime.jit_function import builtin as found
    elif name == "knobs":
        from .. import knobs as found
    elif name == "JITCallable":
        from ..runtime.callables import JITCallable as found
    elif name == "constexpr_function":
        from ..runtime.callables import constexpr_function as found
    elif name == "_aggregate":
        from .aggregate import aggregate as found
    else:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return found
