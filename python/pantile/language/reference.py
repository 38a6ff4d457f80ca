"""Signatures and documentation of the language's functions, from the compiler's own table."""

import ast
import functools
import inspect
import textwrap
from typing import NamedTuple

from .dtypes import TYPES, dtype


class Function(NamedTuple):
    """A function of the language, as the compiler's table has it.

    Attributes
    ----------
    space, name : str
        ("tl", "load"); "libdevice", "desc" (methods of descriptors), "cuda", "py" (Python's own
        names), "host" (`math`, `triton`) and "target_info" are the other spaces.
    signature : str
        The parameters with their defaults.
    summary : str
        One line.
    is_method : bool
        Whether it is also a method of its first operand.
    types, errors : str
        Element types that it takes and gives, and what it refuses; may be "".
    parameters : list of (str, str, str)
        Name, type and meaning of each, in order.
    """

    space: str
    name: str
    signature: str
    summary: str
    is_method: bool
    types: str
    errors: str
    parameters: list


@functools.cache
def functions():
    """Return all functions of the language, in the table's order."""
    from .. import _pantile

    return [Function(*row) for row in _pantile.language_functions()]


@functools.cache
def _table():
    return {(function.space, function.name): function for function in functions()}


def _row(reference):
    space, _, name = reference.rpartition(".")
    spaces = {"": ("tl",), "libdevice": ("libdevice", "tl")}.get(space, (space, "tl", "libdevice"))
    for known in spaces:
        if (known, name) in _table():
            return _table()[known, name]
    return None


def summary_of(reference):
    """Return what a function does, in a line; "" where the table has none."""
    row = _row(reference)
    return row.summary if row else ""


def _indented(text):
    return textwrap.indent(_filled(text, 88), "    ")


def _filled(text, width=92):
    return textwrap.fill(text, width, break_on_hyphens=False)


def documentation_of(reference, is_method=False):
    """Return the docstring of a function, in NumPy's form; "" where the table has none.

    Parameters
    ----------
    reference : str
        "load", "libdevice.tanh", "desc.store".
    is_method : bool, default False
        Leave the first parameter out, which is the object itself.
    """
    row = _row(reference)
    if row is None:
        return ""
    blocks = [f"{row.summary[:1].upper()}{row.summary[1:]}."]
    if row.types:
        blocks.append(_filled(f"Types: {row.types}."))
    parameters = row.parameters[1:] if is_method else row.parameters
    if parameters:
        blocks.append(_parameters_section(reference, parameters))
    if row.errors:
        blocks.append(_errors_section(row.errors))
    return "\n\n".join(blocks)


def _parameters_section(reference, parameters):
    signature = signature_of(reference).parameters
    lines = ["Parameters", "----------"]
    for name, kind, meaning in parameters:
        default = signature[name].default
        known = "" if default is inspect.Parameter.empty else f", default {_shown(default)}"
        lines += [f"{name} : {kind}{known}", _indented(f"{meaning[:1].upper()}{meaning[1:]}.")]
    return "\n".join(lines)


def _shown(default):
    if isinstance(default, dtype):
        return "tl." + next(name for name, kind in TYPES.items() if kind is default)
    return repr(default)


def _errors_section(errors):
    kind, _, rest = errors.partition(" ")
    if not kind.endswith("Failure"):
        kind = "CompilationError"
        rest = errors if errors.startswith("as for ") else f"for {errors}"
    return f"Raises\n------\n{kind}\n{_indented(f'{rest[:1].upper()}{rest[1:]}.')}"


@functools.cache
def signature_of(reference):
    """Return the `inspect.Signature` of a function, with the hidden `_semantic` at its end."""
    row = _row(reference)
    hidden = inspect.Parameter("_semantic", inspect.Parameter.KEYWORD_ONLY, default=None)
    if row is None:
        anything = [
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            hidden,
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
        return inspect.Signature(anything)
    arguments = ast.parse(f"def f({row.signature}): pass").body[0].args
    parameters = [*_parameters(arguments), hidden]
    if arguments.kwarg:
        parameters.append(inspect.Parameter(arguments.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _parameters(arguments):
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    for parameter, default in zip(plain, defaults):
        yield _parameter(parameter, default, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if arguments.vararg:
        yield inspect.Parameter(arguments.vararg.arg, inspect.Parameter.VAR_POSITIONAL)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        yield _parameter(parameter, default, inspect.Parameter.KEYWORD_ONLY)


def _parameter(parameter, default, kind):
    value = inspect.Parameter.empty if default is None else _value(default)
    return inspect.Parameter(parameter.arg, kind, default=value)


def _value(node):
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return TYPES.get(name, name)
    return ast.literal_eval(node)
