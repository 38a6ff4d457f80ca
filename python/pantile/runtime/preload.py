"""A specialisation as text, so that another process can compile it before the first launch."""

import json

from ..language.constexpr import constexpr
from ..language.dtypes import dtype, dtype_of_text
from .callables import JITCallable


def _encode(value):
    if isinstance(value, constexpr):
        return _encode(value.value)
    if isinstance(value, dtype):
        return {"dtype": str(value)}
    if isinstance(value, JITCallable):
        return {"jit_function": f"{value.module}:{value.fn.__qualname__}"}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (tuple, list)):
        return {"tuple": [_encode(element) for element in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a value of type `{type(value).__name__}` cannot be written down")


def _decode(value):
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return dtype_of_text(value["dtype"])
    if "complex" in value:
        return complex(*value["complex"])
    if "tuple" in value:
        return tuple(_decode(element) for element in value["tuple"])
    return find_function(value["jit_function"])


def find_function(place):
    """Return the jit function at "module:qualified.name", also where a tuner has its name."""
    import importlib

    module, _, name = place.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    while not isinstance(found, JITCallable) and hasattr(found, "fn"):
        found = found.fn
    return found


def serialize(function, source, options, target, key):
    """Return one specialisation of `function` as JSON; "" if it has a value that is no data."""
    try:
        constants = [[list(path), _encode(value)] for path, value in source.constants.items()]
        return json.dumps(
            {
                "name": f"{function.module}:{function.fn.__qualname__}",
                "signature": source.signature,
                "constants": constants,
                "attrs": [[list(path), value] for path, value in source.attrs.items()],
                "options": {name: _encode(value) for name, value in options.items()},
                "target": target,
                "source_hash": function.cache_key,
                "key": key,
            }
        )
    except TypeError:
        return ""


def deserialize(function, text):
    """Return (ASTSource, options, target, key) of a text that `serialize` made for `function`."""
    from ..compiler.source import ASTSource

    data = json.loads(text)
    name = f"{function.module}:{function.fn.__qualname__}"
    if data["name"] != name:
        raise RuntimeError(
            f"Specialization data is for {data['name']} but trying to preload for {name}"
        )
    if data["source_hash"] != function.cache_key:
        raise RuntimeError(f"Specialization data is for another version of {name}")
    constants = {tuple(path): _decode(value) for path, value in data["constants"]}
    attrs = {tuple(path): value for path, value in data["attrs"]}
    source = ASTSource(function, data["signature"], constants, attrs)
    options = {name: _decode(value) for name, value in data["options"].items()}
    return source, options, data["target"], data["key"]
