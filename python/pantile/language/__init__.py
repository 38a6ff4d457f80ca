"""The kernel language: names for use inside functions with `@jit`, and types that the host may use too."""

from .classes import CLASSES
from .constexpr import const, constexpr
from .dtypes import TYPES, block_type, dtype, get_int_dtype, pointer_type
from .names import LANGUAGE, Builtin, Enumeration

globals().update(TYPES)
globals().update(CLASSES)
language_names = {name: Builtin(name) for name in LANGUAGE}
globals().update(language_names)
from .type_names import str_to_ty  # noqa: E402

PropagateNan = Enumeration("PropagateNan", ["NONE", "ALL"])
TRITON_MAX_TENSOR_NUMEL = 1048576

from . import core, math, random, standard, target_info  # noqa: E402  (they take their names from here)

__all__ = [
    *TYPES,
    *CLASSES,
    *LANGUAGE,
    "PropagateNan",
    "TRITON_MAX_TENSOR_NUMEL",
    "block_type",
    "const",
    "constexpr",
    "core",
    "dtype",
    "extra",
    "get_int_dtype",
    "libdevice",
    "math",
    "pointer_type",
    "random",
    "standard",
    "str_to_ty",
    "target_info",
]


def __getattr__(name):
    # What few kernels use, and what needs the rest of the package, which is imported later.
    if name in ("extra", "libdevice"):
        import importlib

        module = importlib.import_module(f"{__name__}.extra.libdevice")
        globals().update(extra=importlib.import_module(f"{__name__}.extra"), libdevice=module)
        return globals()[name]
    if name == "constexpr_function":
        from ..runtime.callables import constexpr_function

        return constexpr_function
    if name == "semantic":
        import importlib

        return importlib.import_module(f"{__name__}.semantic")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
