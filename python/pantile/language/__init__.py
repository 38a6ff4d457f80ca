"""The kernel language: names for use inside functions with `@jit`, and types that the host may use too."""

from .constexpr import const, constexpr
from .dtypes import TYPES, dtype, get_int_dtype, pointer_type
from .names import LANGUAGE, Builtin, Enumeration

globals().update(TYPES)
language_names = {name: Builtin(name) for name in LANGUAGE}
globals().update(language_names)
PropagateNan = Enumeration("PropagateNan", ["NONE", "ALL"])
TRITON_MAX_TENSOR_NUMEL = 1048576

from . import core, extra, math, random, standard  # noqa: E402  (they take their names from here)

__all__ = [
    *TYPES,
    *LANGUAGE,
    "PropagateNan",
    "TRITON_MAX_TENSOR_NUMEL",
    "const",
    "constexpr",
    "core",
    "dtype",
    "extra",
    "get_int_dtype",
    "math",
    "pointer_type",
    "random",
    "standard",
]
