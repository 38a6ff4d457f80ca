#!/usr/bin/env python3
"""Writes docs/data/triton-<version>.json: the public names of a release of Triton, facts without code.

Needs: the folder `triton` of a wheel. Nothing is run but with --live, which imports that package, if it is
       importable, and reads the types of its values and what modules get in other ways than by source.
Gives: {module: {name: entry}}. An entry is [kind, ...]: ["function", parameters], ["class", {member:
       parameters or null}, bases], ["value", type or null], ["module"]; "from x" at its end says that the
       module only imports the name, for its own use as it seems, from the module x.
How:   modules and names with an underscore in front are left out but for those that libraries import.
       A parameter is a text: "x", "axis=None", "*shape", "*" before those that are only by name.

Usage: scripts/triton_inventory.py VERSION FOLDER [--live]
"""

import ast
import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Modules that are not public by name, though libraries import them.
KNOWN_PRIVATE = {"_C", "_utils", "_internal_testing", "_filecheck"}
# Other programs and other processors: one entry each.
WHOLE = (
    "experimental.",
    "profiler.",
    "backends.amd",
    "language.extra.hip",
    "tools.triton_to_gluon",
)


def modules(folder):
    """Pairs of a module's name, relative to `triton`, and its file."""
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if all(not part.startswith("_") or part in KNOWN_PRIVATE for part in parts):
            yield ".".join(parts), file


def parameters(arguments, is_method=False):
    """The parameters of a function, but for hidden ones and the first of a method."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    shown = [_text(a, d) for a, d in zip(plain, defaults)][1 if is_method else 0 :]
    if arguments.vararg:
        shown.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        shown.append("*")
    shown += [_text(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        shown.append(f"**{arguments.kwarg.arg}")
    shown = [text for text in shown if not text.startswith("_")]
    return shown[:-1] if shown[-1:] == ["*"] else shown


def _text(argument, default):
    return argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}"


def class_entry(node):
    """The entry of a class: its public members, those that objects get, and its bases."""
    members = {}
    for part in node.body:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [ast.unparse(d) for d in part.decorator_list]
            is_static = "staticmethod" in decorators
            is_value = any("property" in d or d.endswith("setter") for d in decorators)
            members[part.name] = None if is_value else parameters(part.args, not is_static)
            if part.name == "__init__":
                members |= {name: None for name in _assigned_to_self(part)}
        else:
            members |= {name: None for name in _targets(part)}
    return ["class", _public(members, "__init__"), [ast.unparse(base) for base in node.bases]]


def _assigned_to_self(function):
    for part in ast.walk(function):
        for target in getattr(part, "targets", [getattr(part, "target", None)]):
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                yield target.attr


def _targets(node):
    for target in getattr(node, "targets", [getattr(node, "target", None)]):
        if isinstance(target, ast.Name):
            yield target.id


def _public(names, *more):
    return {n: value for n, value in names.items() if not n.startswith("_") or n in more}


def _literal_type(node):
    try:
        return type(ast.literal_eval(node)).__name__
    except (ValueError, TypeError, SyntaxError):
        return None


def imported(node, module, is_package):
    """Names that a `from` import takes from the package itself: {name: (module, name)}."""
    if not isinstance(node, ast.ImportFrom):
        return {}
    if node.level:
        parts = module.split(".") if module else []
        base = parts[: len(parts) - node.level + is_package]
        source = ".".join([*base, *([node.module] if node.module else [])])
    elif (node.module or "").partition(".")[0] == "triton":
        source = node.module.partition(".")[2]
    else:
        return {}
    return {alias.asname or alias.name: (source, alias.name) for alias in node.names}


def module_names(module, file):
    """The entries of a module's own names, and where it takes others from."""
    own, taken = {}, {}
    body = list(ast.parse(file.read_text()).body)
    while body:
        node = body.pop(0)
        if isinstance(node, (ast.If, ast.Try)):
            guard = ast.unparse(node.test) if isinstance(node, ast.If) else ""
            body = [*([] if "TYPE_CHECKING" in guard else node.body), *node.orelse, *body]
        elif isinstance(node, ast.FunctionDef):
            own[node.name] = ["function", parameters(node.args)]
        elif isinstance(node, ast.ClassDef):
            own[node.name] = class_entry(node)
        else:
            kind = _literal_type(node.value) if hasattr(node, "value") and node.value else None
            own |= {name: ["value", kind] for name in _targets(node)}
            taken |= imported(node, module, file.name == "__init__.py")
    return _public(own), _public(taken)


def _listed(file):
    """What a module's `__all__` names."""
    for node in ast.parse(file.read_text()).body:
        if "__all__" in _targets(node):
            return [
                part.value for part in getattr(node.value, "elts", []) if hasattr(part, "value")
            ]
    return []


def inventory(folder):
    """The whole package, by text."""
    own, taken, listed, result, packages = {}, {}, {}, {}, set()
    for module, file in modules(folder):
        own[module], taken[module] = module_names(module, file)
        listed[module] = _listed(file)
        if file.name == "__init__.py":
            packages.add(module)
    for module in own:
        if module.startswith(WHOLE):
            result[module] = {}
            continue
        result[module] = dict(own[module])
        for name, place in taken[module].items():
            entry = _resolve(own, taken, *place)
            is_api = module in packages or name in listed[module]
            result[module].setdefault(name, entry if is_api else [*entry, f"from {place[0]}"])
    return result


def _resolve(own, taken, module, name, depth=0):
    if name in own.get(module, {}):
        entry = own[module][name]
        # A class is described where it is defined.
        return ["class", {}, []] if entry[0] == "class" else entry
    if ".".join(filter(None, (module, name))) in own:
        return ["module"]
    if depth < 8 and name in taken.get(module, {}):
        return _resolve(own, taken, *taken[module][name], depth + 1)
    return ["value", None]


def ask(result):
    """Put the types of values of the imported package in."""
    for module, names in result.items():
        if not names:
            continue
        try:
            found = importlib.import_module(".".join(filter(None, ("triton", module))))
        except Exception as error:
            print(f"triton.{module}: {error!r}", file=sys.stderr)
            continue
        for name in getattr(found, "__all__", []):
            if name not in names and not name.startswith("_"):
                names[name] = ["value", type(getattr(found, name, None)).__name__]
        for name, entry in names.items():
            if entry[0] == "value" and hasattr(found, name):
                entry[1] = type(getattr(found, name)).__name__


def main():
    """Write the inventory of a release."""
    version, folder = sys.argv[1], Path(sys.argv[2])
    result = inventory(folder)
    if "--live" in sys.argv:
        ask(result)
    lines = [f"{json.dumps(module)}: {json.dumps(names)}" for module, names in result.items()]
    target = ROOT / f"docs/data/triton-{version}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{target.name}: {len(result)} modules, {sum(map(len, result.values()))} names")


if __name__ == "__main__":
    main()
