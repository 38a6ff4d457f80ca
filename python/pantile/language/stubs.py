"""Stub files of the language for editors and type checkers, from the compiler's own table.

`python -m pantile.language.stubs FOLDER` writes `__init__.pyi` and the others into FOLDER, which
stands for this package's folder; building a wheel does so.
"""

import inspect
import sys
import textwrap
from pathlib import Path

from .dtypes import TYPES, dtype
from .names import CUDA, LANGUAGE, LIBDEVICE, MATH
from .reference import documentation_of, functions, signature_of

_HEAD = '''\
"""{doc}

Written by `python -m pantile.language.stubs`.
"""

from typing import Any

'''

_CLASSES = """\
class tensor:
    T: tensor
    dtype: dtype
    type: dtype
    shape: tuple
    numel: Any
{methods}
class constexpr:
    value: Any
    def __init__(self, value: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class dtype:
    name: str
    primitive_bitwidth: int
    itemsize: int
    def __init__(self, name: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class pointer_type(dtype):
    element_ty: dtype
    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None:
        {pointer_type}

class block_type(dtype):
    element_ty: dtype
    shape: tuple
    def __init__(self, element_ty: dtype, shape: Any) -> None:
        {block_type}

class tensor_descriptor:
    base: tensor
    shape: tuple
    strides: tuple
    block_shape: tuple
    dtype: dtype
    def __getattr__(self, name: str) -> Any: ...
{descriptor_methods}
class const: ...

def constexpr_function(fn: Any) -> Any: ...
"""

_OPERATORS = """add sub mul truediv floordiv mod and or xor lshift rshift lt le gt ge radd rsub rmul
rtruediv rfloordiv rmod rand ror rxor""".split()


def _text_of(parameter):
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    if parameter.default is inspect.Parameter.empty:
        return f"{text}: Any"
    shown = "..." if isinstance(parameter.default, dtype) else repr(parameter.default)
    return f"{text}: Any = {shown}"


def _function(reference, name, method=False):
    parameters = list(signature_of(reference).parameters.values())
    shown, starred = [], False
    for parameter in parameters[1:] if method else parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        starred |= parameter.kind is inspect.Parameter.VAR_POSITIONAL
        shown.append(_text_of(parameter))
    if method:
        shown.insert(0, "self")
    indent = "    " if method else ""
    doc = _docstring(reference, f"{indent}    ", method)
    return f"{indent}def {name}({', '.join(shown)}) -> Any:\n{indent}    {doc}\n"


def _docstring(reference, indent, method=False):
    doc = documentation_of(reference, method).replace("\\", "\\\\") or reference
    end = f"\n{indent}" if "\n" in doc else ""
    return f'"""{textwrap.indent(doc, indent).lstrip()}{end}"""'


def _methods(space):
    prefix = "" if space == "tl" else f"{space}."
    names = [row.name for row in functions() if row.space == space and row.is_method]
    return [_function(prefix + name, name, method=True) for name in names]


def _functions_of(space):
    return "".join(
        _function(f"{space}.{row.name}", row.name) for row in functions() if row.space == space
    )


def _language():
    operators = [f"    def __{name}__(self, other: Any) -> tensor: ...\n" for name in _OPERATORS]
    operators.append("    def __getitem__(self, index: Any) -> tensor: ...\n")
    methods = "".join(operators + _methods("tl"))
    classes = {name: _docstring(name, " " * 8) for name in ("pointer_type", "block_type")}
    parts = [
        _CLASSES.format(methods=methods, descriptor_methods="".join(_methods("desc")), **classes)
    ]
    parts += [f"{name}: dtype\n" for name in TYPES]
    parts += [_function(name, name) for name in (*LANGUAGE, "get_int_dtype")]
    parts.append("from . import core, extra, math, random, standard, target_info\n")
    return "".join(parts)


def stubs():
    """Return {path within the package's folder: text} of all stub files."""

    def module(doc, body):
        return _HEAD.format(doc=doc) + body

    libdevice = "".join(_function(f"libdevice.{name}", name) for name in LIBDEVICE)
    everything = "from . import *\n"
    return {
        "__init__.pyi": module("The kernel language.", _language()),
        "core.pyi": module("The kernel language.", everything),
        "standard.pyi": module("The kernel language.", everything),
        "random.pyi": module("The kernel language.", everything),
        "math.pyi": module("Mathematics.", "".join(_function(name, name) for name in MATH)),
        "target_info.pyi": module("Questions about the target.", _functions_of("target_info")),
        "extra/libdevice.pyi": module("NVIDIA's device library.", libdevice),
        "extra/cuda/__init__.pyi": module(
            "Names that only NVIDIA's GPUs have.",
            "from .. import libdevice as libdevice\n"
            + "".join(_function(f"cuda.{name}", name) for name in CUDA),
        ),
    }


def write(folder):
    """Write all stub files below `folder`."""
    for path, text in stubs().items():
        target = Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    write(sys.argv[1])
