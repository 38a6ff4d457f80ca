#!/usr/bin/env python3
"""Writes docs/parity.md: what Pantile has of every public name of Triton, and why not what it lacks.

Needs: docs/data/triton-*.json (scripts/triton_inventory.py), docs/data/parity-reasons.json; the package
       `pantile`, built.
Gives: the page. A row is a module, name or member of a class that is not the same; it says what is
       other, and why. Everything else that Triton has is the same, and counted.
How:   the same means: of the same kind (function, class, value, module), functions with the same
       parameters in the same order, by name where Triton's are by name, with a default where Triton has
       one; classes with the same members; values of the same type. More parameters with defaults, more
       members and more names are no difference. A row without a reason is open.

Usage: scripts/parity.py [--check | --open]. Reasons that no row needs any more are taken out of their file.
"""

import enum
import fnmatch
import importlib
import inspect
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs/data"
PAGE = ROOT / "docs/parity.md"
VERSIONS = ("3.6", "3.9")
MISSING = object()
# First parameters of functions that are methods too.
FIRST = ("self", "cls", "input", "pointer", "x", "a", "src", "desc")
# Compared by what they are for, not by their Python class.
VALUE_TYPES = {
    "PROPAGATE_NAN": "Enumeration",
    "pybind11_type": "Enumeration",  # or a class of our own
    "function": None,
    "builtin_function_or_method": "function",
    "constexpr": "constexpr",
}


def load(name):
    """A file of docs/data."""
    return json.loads((DATA / name).read_text())


def our_module(name):
    """Our module of a name, or MISSING."""
    try:
        return importlib.import_module(".".join(filter(None, ("pantile", name))))
    except ImportError:
        return MISSING


def our_name(module, name):
    """What our module has under a name; submodules count as `import` gives them."""
    found = getattr(module, name, MISSING)
    return our_module(f"{module.__name__}.{name}"[len("pantile.") :]) if found is MISSING else found


def parameter_names(value):
    """Our parameters as {name: (kind, whether it has a default)}; None where Python cannot say."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return {
        p.name: (p.kind, p.default is not p.empty)
        for p in signature.parameters.values()
        if not p.name.startswith("_")
    }


def theirs(parameters):
    """The same of an inventory's texts."""
    result, by_name = {}, False
    for text in parameters:
        name, equals, _ = text.partition("=")
        kind = (
            inspect.Parameter.KEYWORD_ONLY if by_name else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        if text == "*":
            by_name = True
            continue
        if text.startswith("**"):
            kind = inspect.Parameter.VAR_KEYWORD
        elif text.startswith("*"):
            kind, by_name = inspect.Parameter.VAR_POSITIONAL, True
        result[name.lstrip("*")] = (kind, bool(equals))
    return result


def parameter_difference(parameters, value, is_method=False):
    """What a caller of Triton's function would notice; "" for nothing."""
    ours = parameter_names(value)
    if ours is None:
        return ""
    kinds = {kind for kind, _ in ours.values()}
    takes_all = inspect.Parameter.VAR_POSITIONAL in kinds and inspect.Parameter.VAR_KEYWORD in kinds
    names = list(ours)
    if is_method and names and names[0] in FIRST:
        names = names[1:]
    wanted = theirs(parameters)
    position = 0
    for name, (kind, has_default) in wanted.items():
        if takes_all:
            return ""
        if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            if kind not in kinds:
                return f"takes no `{'*' if kind.name == 'VAR_POSITIONAL' else '**'}{name}`"
            position += kind is inspect.Parameter.VAR_POSITIONAL
            continue
        if name not in ours and inspect.Parameter.VAR_KEYWORD not in kinds:
            return f"has no parameter `{name}`"
        if name in ours and has_default and not ours[name][1]:
            return f"needs `{name}`"
        if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            if name in names and names.index(name) != position:
                return f"has `{name}` in another place"
            position += 1
    needed = [
        n for n in names if n not in wanted and not ours[n][1] and ours[n][0].value in (0, 1, 3)
    ]
    return f"needs `{needed[0]}`" if needed else ""


def member_differences(entry, value):
    """Pairs of a class's member and what is other of it."""
    for name, parameters in entry[1].items():
        found = inspect.getattr_static(value, name, MISSING)
        if name == "__init__":
            difference = parameter_difference(parameters, value) if parameters else ""
            if difference:
                yield "__init__", difference
        elif found is MISSING and not hasattr(value, name) and not _is_set_on_objects(value, name):
            yield name, "missing"
        elif parameters is not None and callable(member := getattr(value, name, None)):
            if difference := parameter_difference(parameters, member, is_method=True):
                yield name, difference


def _is_set_on_objects(cls, name):
    """Whether a constructor of the class, or a dataclass, assigns the attribute."""
    for base in cls.__mro__:
        if name in getattr(base, "__annotations__", {}) or name in getattr(base, "_fields", ()):
            return True
        for maker in ("__init__", "__new__", "_start"):
            function = inspect.unwrap(
                getattr(vars(base).get(maker), "__func__", vars(base).get(maker))
            )
            if inspect.isfunction(function) and name in function.__code__.co_names:
                return True
    return False


def differences(entry, value):
    """Triples of "" or a member, and what is other."""
    kind = entry[0]
    if value is MISSING:
        yield "", "missing"
    elif kind == "function":
        if not callable(value):
            yield "", f"a {type(value).__name__}, not a function"
        elif difference := parameter_difference(entry[1], value):
            yield "", difference
    elif kind == "class":
        if not isinstance(value, type):
            if not callable(value):
                yield "", f"a {type(value).__name__}, not a class"
            elif "__init__" in entry[1]:
                if difference := parameter_difference(entry[1]["__init__"], value):
                    yield "", difference
        else:
            yield from member_differences(entry, value)
    elif kind == "value" and (difference := _type_difference(entry[1], value)):
        yield "", difference


def _type_difference(wanted, value):
    if wanted == "pybind11_type" and isinstance(value, type):
        return ""
    same_class = getattr(our_module("knobs"), wanted or "", None)
    if isinstance(same_class, type) and isinstance(value, same_class):
        return ""
    wanted = VALUE_TYPES.get(wanted, wanted)
    names = {base.__name__ for base in type(value).__mro__}
    if isinstance(value, enum.EnumMeta):
        names.add("Enumeration")
    both = {wanted, type(value).__name__}
    if wanted in (None, "NoneType") or wanted in names or both <= {"tuple", "list", "dict", "set"}:
        return ""
    if wanted == "type" and isinstance(value, type) or callable(value) and wanted == "function":
        return ""
    return f"a {type(value).__name__}, not a {wanted}"


def rows_of(version):
    """{(module, name or "", member or ""): difference} of a release, and how many entries it has."""
    result, count = {}, 0
    for module, names in load(f"triton-{version}.json").items():
        ours = our_module(module)
        count += 1
        if ours is MISSING:
            result[module, "", ""] = "missing"
            continue
        for name, entry in names.items():
            count += 1 + (len(entry[1]) if entry[0] == "class" else 0)
            for member, difference in differences(entry, our_name(ours, name)):
                result[module, name, member] = difference
    return result, count


def label(key):
    """The text of a key that patterns of reasons are matched with."""
    module, name, member = key
    return f"{module}:{name}" + (f".{member}" if member else "") if name else module


def reason_of(key, reasons):
    """The first reason whose pattern fits; of a missing module that of its package."""
    for pattern, reason in reasons.items():
        if fnmatch.fnmatchcase(label(key), pattern):
            return reason
    return ""


def compare():
    """Rows (key, difference in each version, reason) of all that is not the same, and the counts."""
    reasons = load("parity-reasons.json")
    found = {version: rows_of(version) for version in VERSIONS}
    keys = sorted({key for rows, _ in found.values() for key in rows})
    table = []
    for key in keys:
        shown = [found[version][0].get(key, _same(version, key)) for version in VERSIONS]
        table.append((key, shown, reason_of(key, reasons) or _chosen(shown) or _imported(key)))
    unused = [p for p in reasons if not any(fnmatch.fnmatchcase(label(k), p) for k, *_ in table)]
    return table, {version: count for version, (_, count) in found.items()}, unused


def _same(version, key):
    module, name, member = key
    names = load_once(version).get(module)
    if names is None or (name and name not in names):
        return "-"
    entry = names[name] if name else None
    return "-" if member and (entry[0] != "class" or member not in entry[1]) else "same"


_inventories = {}


def load_once(version):
    """The inventory of a release."""
    if version not in _inventories:
        _inventories[version] = load(f"triton-{version}.json")
    return _inventories[version]


def _chosen(shown):
    if shown[0] == "same":
        return "Triton 3.9 changed it: it is as in 3.6, the release that this package stands in for"
    if shown[1] == "same":
        return "Triton changed it after 3.6, and it is as in 3.9: arguments by place go to either"
    return ""


def _imported(key):
    """The reason for a name that Triton's module only imports, where its source has it here too."""
    module, name, _ = key
    for version in VERSIONS:
        entry = load_once(version).get(module, {}).get(name, [""])
        source = entry[-1] if isinstance(entry[-1], str) else ""
        if not source.startswith("from "):
            continue
        source = source[len("from ") :]
        found = our_module(source)
        if found is not MISSING and our_name(found, name) is not MISSING:
            place = ".".join(filter(None, ("triton", source)))
            return (
                f"Triton's module imports it for its own use from `{place}`, where it is here too"
            )
    return ""


HEAD = """# Parity with Triton

What Pantile has of every public module, name, parameter, class member and value's type of Triton {versions}. Written by
`scripts/parity.py` from the names of both releases (`docs/data`); a test keeps it up to date, and fails for a row
without a reason.

| release | entries | same | other, with a reason |
|---|---|---|---|
{counts}

What is not listed is the same: the same kind of thing, parameters of the same names in the same places, members and
types of values. "-" stands for what a release does not have.
"""


def page(table, counts):
    """The text of the page."""
    rows = [
        f"| {v} | {counts[v]} | {counts[v] - _others(table, i)} | {_others(table, i)} |"
        for i, v in enumerate(VERSIONS)
    ]
    parts = [HEAD.format(versions=" and ".join(VERSIONS), counts="\n".join(rows))]
    module = None
    for key, shown, reason in table:
        if key[0] != module:
            module = key[0]
            parts.append(f"\n## {'.'.join(filter(None, ('triton', module)))}\n")
            parts.append("| name | " + " | ".join(VERSIONS) + " | reason |\n|---|---|---|---|")
        name = label(key).partition(":")[2] or "the module"
        cells = [name if " " in name else f"`{name}`", *shown, reason]
        parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(parts) + "\n"


def _others(table, index):
    return sum(shown[index] not in ("same", "-") for _, shown, _ in table)


def main():
    """Write or check the page; return the exit status."""
    table, counts, unused = compare()
    without = [f"{label(key)}: {shown}" for key, shown, reason in table if not reason]
    for line in without + [f"no row has the reason of `{pattern}`" for pattern in unused]:
        print(line)
    if "--open" in sys.argv:
        return 0
    if unused and "--check" not in sys.argv:
        kept = {p: reason for p, reason in load("parity-reasons.json").items() if p not in unused}
        (DATA / "parity-reasons.json").write_text(json.dumps(kept, indent=1) + "\n")
    text = page(table, counts)
    if "--check" in sys.argv:
        stale = not PAGE.exists() or PAGE.read_text() != text
        if stale:
            print("docs/parity.md is not what scripts/parity.py writes")
        return int(bool(stale or without or unused))
    PAGE.write_text(text)
    print(f"{len(table)} rows, {len(without)} open")
    return 0


if __name__ == "__main__":
    sys.exit(main())
