#!/usr/bin/env python3
"""Writes docs/cpp-reference.md: what the public C++ headers declare, with their comments.

Needs: compiler/include/pantile/*.h, Options.def and Stages.def.
Gives: the page; with --check status 1 if it would change, or if something has no meaning.
How:   a function's comment names each parameter in backticks, a struct's members have a comment
       each. Constructors, operators and destructors speak for themselves.
"""

import re
import sys
from pathlib import Path

import cpp_headers
from generated_page import finish

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/cpp-reference.md"
INTRODUCTION = """# C++ API reference

Written by `scripts/cpp_page.py` from the headers. [The C++ API](cpp.md) shows how these names go together.
Where a function returns a `Result`, an `Error` says why it failed; no function throws.
"""
RECORDS = ("struct", "class", "enum class", "enum")


def table(name, macro):
    """Rows of a .def next to the headers, those of one macro: the cells of each."""
    text = (cpp_headers.HEADERS / name).read_text(encoding="utf-8")
    rows = re.findall(rf"^{macro}\((.*)\)$", text, re.M)
    cells = [re.findall(r'"(?:[^"\\]|\\.)*"|[^,"]+', row) for row in rows]
    return [[cell.strip() for cell in row if cell.strip()] for row in cells]


def option_rows():
    """Rows of the page's table for Options: declaration and meaning."""
    rows = []
    for kind, member, key, initial, meaning in table("Options.def", "OPTION"):
        code = f"{kind} {member}" + ("" if initial in ('""', "{}") else f" = {initial}")
        rows.append((f"{code};", f"{meaning.strip(chr(34))}; `{key.strip(chr(34))}` in Python"))
    return rows


def is_plain(declaration, owner):
    """Whether a declaration says all by itself."""
    if declaration.kind == "type":
        return not declaration.code.startswith("using")
    if declaration.kind != "function":
        return False
    is_constructor = declaration.name.strip("~") == owner.partition("<")[0]
    return is_constructor or "operator" in declaration.name


def undocumented(declarations, owner=""):
    """What has no meaning, as "Kernel::plan", and parameters, as "launch: grid"."""
    for found in declarations:
        if is_plain(found, owner):
            continue
        path = f"{owner}::{found.name}" if owner else found.name
        if not found.doc:
            yield path
        elif found.kind == "function":
            yield from (f"{path}: {p}" for p in found.parameters if f"`{p}`" not in found.doc)
        yield from undocumented(found.members, found.name)


def _cell(text):
    return text.replace("|", "\\|")


def _without_body(found):
    code = found.code.replace("PANTILE_API ", "")
    if found.kind != "function":
        return code
    return re.sub(r"\)( const)? \{.*\}$", r")\1;", code)


def members(record):
    """The table of a record's members, and what its nested records hold."""
    rows, nested = [], []
    for found in record.members:
        if is_plain(found, record.name):
            continue
        if found.kind in RECORDS:
            nested += entry(found, f"{record.name}::")
        else:
            rows.append((_without_body(found), found.doc))
    if record.name == "Options":
        rows = option_rows()
    if record.name == "Stage":
        rows = [
            (name, f"`{text[1:-1]}`: {said[1:-1]}")
            for name, text, said in table("Stages.def", "STAGE")
        ]
    lines = [f"| `{_cell(code)}` | {_cell(doc)} |" for code, doc in rows]
    return (["| member | meaning |", "|---|---|", *lines, ""] if lines else []) + nested


def entry(found, owner=""):
    """The part of the page on one declaration."""
    lines = [f"### {owner}{found.name}", ""]
    if found.kind not in RECORDS:
        lines += ["```cpp", _without_body(found), "```", ""]
    lines += [found.doc, ""]
    return lines + (members(found) if found.kind in RECORDS else [])


def page():
    """The text of the page."""
    lines = [INTRODUCTION]
    for path, title, banner, declarations in cpp_headers.headers():
        said = title.partition(" - ")[2]
        lines += [f"## {path.name}", "", f"{said[:1].upper()}{said[1:]}.", ""]
        lines += [banner, ""] if banner else []
        for found in declarations:
            lines += entry(found) if not is_plain(found, "") else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def main():
    """Write the page, or say that it would change."""
    missing = [
        f"compiler/include/pantile: `{name}` has no comment that says what it means"
        for _, _, _, found in cpp_headers.headers()
        for name in undocumented(found)
    ]
    return finish(PAGE, page(), missing)


if __name__ == "__main__":
    sys.exit(main())
