"""All names of `tl`, as objects: what `pantile.language` and its modules show."""

from .classes import CLASSES
from .constexpr import const, constexpr
from .dtypes import TYPES, block_type, dtype, get_int_dtype, pointer_type
from .names import LANGUAGE, Builtin, Enumeration
from .type_names import str_to_ty

globals().update(TYPES)
globals().update(CLASSES)
language_names = {name: Builtin(name) for name in LANGUAGE}
globals().update(language_names)

PropagateNan = Enumeration("PropagateNan", ["NONE", "ALL"])
TRITON_MAX_TENSOR_NUMEL = 1048576

__all__ = [
    *TYPES,
    *CLASSES,
    *LANGUAGE,
    "PropagateNan",
    "TRITON_MAX_TENSOR_NUMEL",
    "block_type",
    "const",
    "constexpr",
    "dtype",
    "get_int_dtype",
    "pointer_type",
    "str_to_ty",
]
