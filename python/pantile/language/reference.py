"""Signatures and one-line meanings of the language's functions, from the compiler's own table."""

import ast
import functools
import inspect

from .dtypes import TYPES


@functools.cache
def _table():
    from .. import _pantile

    return {
        (space, name): (signature, summary)
        for space, name, signature, summary, _ in _pantile.language_functions()
    }


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
    return row[1] if row else ""


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
    arguments = ast.parse(f"def f({row[0]}): pass").body[0].args
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
