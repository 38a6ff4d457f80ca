#!/usr/bin/env python3
"""Writes the reference pages of the language, docs/reference/*.md.

Needs: compiler/frontend/{Builtins,BuiltinDocs,Libdevice}.def, compiler/stdlib,
       docs/reference/entries.
Gives: one page per group of names: signature, meaning, types, parameters, errors, an example with its
       result.
How:   all but the examples comes from the compiler's tables and the library's own text. The entries
       are Markdown with a section per name. An example is the body of a kernel with the parameter
       `out`, perhaps after the functions that it calls and the line `# kernel`; a line such as
       `i32: [1, 2]` says what `out` holds afterwards.

Usage: scripts/reference.py [--check]
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/reference"
FRONTEND = ROOT / "compiler/frontend"
DTYPES = ROOT / "compiler/include/pantile/Dtypes.def"
TYPES = dict(
    re.findall(r'^\w*DTYPE\(\w+, "\w+", "\w+", "(\w+)", \d+, "(.*)"\)$', DTYPES.read_text(), re.M)
)
TYPES_WITHOUT_EXAMPLE = ("float8e4b15", "float8e4b8", "float8e5b16", "complex64")


@dataclass
class Row:
    """A name as the compiler has it."""

    name: str
    space: str
    signature: str
    doc: str
    method: bool
    types: str = ""
    errors: str = ""
    parameters: list = field(default_factory=list)  # name, type and meaning of each


@dataclass
class Entry:
    """What the entries say of a name."""

    name: str
    prose: list = field(default_factory=list)
    types: str = ""
    helpers: str = ""
    body: str = ""
    dtype: str = ""
    expected: str = ""
    only: str = ""

    def kernel(self):
        """The example as module text."""
        helpers = f"{self.helpers}\n\n" if self.helpers else ""
        body = "\n".join(f"    {line}".rstrip() for line in self.body.splitlines())
        return f"{helpers}@triton.jit\ndef example(out):\n{body}\n"


def _text(literal):
    return literal.replace('\\"', '"').replace("\\\\", "\\")


def builtin_rows():
    """Rows of Builtins.def, with the library's signatures from its text."""
    table = (FRONTEND / "Builtins.def").read_text()
    library = library_signatures()
    string = r'"((?:[^"\\]|\\.)*)"'
    rows = [
        Row(name, space, _text(signature), _text(doc), method == "true")
        for space, name, method, signature, doc in re.findall(
            rf"^BUILTIN\((\w+), (\w+), \w+, (true|false),\s*{string},\s*{string}\)", table, re.M
        )
    ]
    rows += [
        Row(name, "tl", library.get(name, ""), _text(doc), method == "true")
        for name, method, doc in re.findall(
            rf"^LIBRARY\(([a-z]\w*), (true|false),\s*{string}\)", table, re.M
        )
    ]
    add_documentation(rows)
    return rows


def add_documentation(rows):
    """Fill in what BuiltinDocs.def says of `rows`."""
    string = r'"((?:[^"\\]|\\.)*)"'
    table = (FRONTEND / "BuiltinDocs.def").read_text()
    known = {}
    for kind, *texts in re.findall(
        rf"^(TYPES|ERRORS|PARAMETER)\({string}, {string}(?:, {string}, {string})?\)", table, re.M
    ):
        functions, first, *rest = (_text(text) for text in texts)
        for function in functions.split(" "):
            function = function if "." in function else f"tl.{function}"
            if kind == "PARAMETER":
                known[kind, function, first] = (first, *rest)
            else:
                known[kind, function] = first
    for row in rows:
        name = f"{row.space}.{row.name}"
        row.types = known.get(("TYPES", name), "")
        row.errors = known.get(("ERRORS", name), "")
        row.parameters = [
            known.get(("PARAMETER", name, parameter), (parameter, "", ""))
            for parameter in re.findall(r"(?:^|, )\**(\w+)", row.signature)
        ]


def library_signatures():
    """Parameters of the functions of compiler/stdlib."""
    result = {}
    for file in sorted((ROOT / "compiler/stdlib").glob("*.py")):
        for name, parameters in re.findall(
            r"^def ([a-z]\w*)\((.*?)\):", file.read_text(), re.M | re.S
        ):
            result[name] = re.sub(r"\s+", " ", parameters.replace(": tl.constexpr", "")).strip(" ,")
    return result


def libdevice_rows():
    """(name, parameters, overloads, meaning) of Libdevice.def."""
    table = (FRONTEND / "Libdevice.def").read_text()
    return re.findall(r'^LIBDEVICE\((\w+), "(.*?)", "(.*?)", "(.*?)"\)', table, re.M)


def builtin_libdevice_rows():
    """The same as rows, with the parameters of which BuiltinDocs.def says something."""
    rows = [
        Row(name, "libdevice", parameters, doc, False)
        for name, parameters, _, doc in libdevice_rows()
    ]
    add_documentation(rows)
    return rows


def read_entries(path):
    """The title of a file of entries, its introduction, and the entries."""
    head, *sections = re.split(r"^## ", path.read_text(), flags=re.M)
    title, _, introduction = head.removeprefix("# ").partition("\n")
    return title, introduction.strip(), [_entry(section) for section in sections]


def _entry(section):
    name, _, text = section.partition("\n")
    entry, code = Entry(name.strip()), []
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        if line.startswith("    ") or (code and not line and not entry.dtype):
            code.append(line[4:])
        elif key in ("types", "only"):
            setattr(entry, key, value)
        elif re.fullmatch(r"(i|u|fp|bf)\d+", key):
            entry.dtype, entry.expected = key, value
        elif line:
            entry.prose.append(line)
    text = "\n".join(code).strip("\n")
    helpers, found, body = text.partition("# kernel\n")
    entry.helpers, entry.body = (helpers.strip("\n"), body) if found else ("", text)
    return entry


PREFIXES = {"tl": "tl.", "cuda": "tl.extra.cuda.", "desc": "", "target_info": "tl.target_info."}


def _head(row):
    """Signature and meaning of a function."""
    method = " Also a method of its first operand." if row.method and row.space == "tl" else ""
    call = f"{PREFIXES.get(row.space, '')}{row.name}({row.signature})"
    return [f"`{call}`", "", f"{_sentence(row.doc)}{method}", ""]


def _details(row):
    """Types, parameters and errors of a function."""
    lines = [f"Types: {row.types}.", ""] if row.types else []
    for name, kind, meaning in row.parameters:
        default = re.search(rf"(?:^|, ){name}\s*=\s*('.*?'|\(\)|[^,]+)", row.signature)
        known = f", default `{default[1]}`" if default else ""
        lines.append(f"- `{name}` ({kind}{known}): {meaning}.")
    lines += [""] if row.parameters else []
    return [*lines, *([f"Errors: {row.errors}.", ""] if row.errors else [])]


def _section(entry, rows):
    row = rows.get(entry.name)
    lines = [f"## {entry.name}", "", *(_head(row) if row else [])]
    if entry.prose:
        lines += [*entry.prose, ""]
    if entry.types:
        lines += [f"Types: {entry.types}.", ""]
    lines += _details(row) if row else []
    where = " (on a GPU only)" if entry.only == "gpu" else ""
    lines += ["```python", entry.kernel().rstrip(), "```", ""]
    return [*lines, f"`out`, of {entry.dtype}, then holds `{entry.expected}`{where}.", ""]


def _sentence(text):
    """`text` with a full stop; its first letter is raised unless it stands in a formula."""
    is_formula = re.match(r"[a-z]+\(|[exy] ", text)
    return (text if is_formula else text[:1].upper() + text[1:]) + "."


def page(path, rows):
    """The page of one file of entries."""
    title, introduction, entries = read_entries(path)
    lines = [f"# {title}", "", *([introduction, ""] if introduction else [])]
    for entry in entries:
        lines += _section(entry, rows)
    return "\n".join(lines).rstrip() + "\n"


def types_page():
    """The page of the element types."""
    lines = ["# Element types", "", "| type | meaning |", "|---|---|"]
    lines += [f"| `tl.{name}` | {meaning} |" for name, meaning in TYPES.items()]
    lines += ["", "```python", type_example("float16").kernel().rstrip(), "```", ""]
    return "\n".join([*lines, "`out`, of i32, then holds `[1]`."]) + "\n"


def type_example(name):
    """An example for an element type: 1 in it is 1 again."""
    entry = Entry(name, dtype="i32", expected="[1]")
    middle = ".to(tl.float32)" if name.startswith("float8") else ""
    entry.body = f"x = tl.full((1,), 1.0, tl.float32).to(tl.{name})\n"
    entry.body += f"tl.store(out + tl.arange(0, 1), x{middle}.to(tl.int32))"
    return entry


def libdevice_page():
    """The table of libdevice's functions."""
    lines = [
        "# libdevice",
        "",
        "NVIDIA's device functions, as `tl.extra.libdevice.NAME`; on the CPU the same functions from the C",
        "library and our own. The operands' types choose the symbol; where none takes them as they are, they are",
        "promoted to one type first, and types that no symbol takes are an error. Operands are tiles or scalars, and are",
        "broadcast. `arg0`, `arg1` and `arg2` are the x, y and z of the meaning, unless it says otherwise.",
        "",
        "| function | meaning | types |",
        "|---|---|---|",
    ]
    own = {row.name: row.parameters for row in builtin_libdevice_rows()}
    for name, parameters, overloads, doc in sorted(libdevice_rows()):
        types = "; ".join(re.sub(r" __\w+$", "", part.strip()) for part in overloads.split(";"))
        said = "; ".join(f"`{p}` is {text}" for p, _, text in own[name] if text)
        doc = f"{doc}; {said}" if said else doc
        doc = doc.replace("|", "\\|")
        lines.append(f"| `{name}({parameters})` | {doc} | {types.replace('>', '→')} |")
    return "\n".join(lines) + "\n"


def list_page(title, introduction, rows):
    """A page with a section per row, without examples."""
    lines = [f"# {title}", "", introduction, ""]
    for row in rows:
        lines += [f"## {row.name}", "", *_head(row), *_details(row)]
    return "\n".join(lines).rstrip() + "\n"


def entry_files():
    """The files of entries, in the order of the pages."""
    return sorted((PAGES / "entries").glob("*.md"))


def pages():
    """All pages: path -> text."""
    rows = builtin_rows()
    by_name = {row.name: row for row in rows if row.space in ("py", "cuda")}
    by_name |= {row.name: row for row in rows if row.space == "tl"}
    result = {PAGES / path.name[2:]: page(path, by_name) for path in entry_files()}
    result[PAGES / "types.md"] = types_page()
    result[PAGES / "libdevice.md"] = libdevice_page()
    for space, title, introduction in (
        (
            "desc",
            "Methods of descriptors",
            "Of what `tl.make_tensor_descriptor` and the host's descriptors give.",
        ),
        ("py", "Python's own names", "Names that kernels use without an import."),
        (
            "host",
            "Functions of the host",
            "`triton.NAME` and `math.NAME`, of compile-time numbers in kernels.",
        ),
        (
            "target_info",
            "Questions about the target",
            "Of the module `tl.target_info`, answered while compiling.",
        ),
    ):
        chosen = [row for row in rows if row.space == space]
        if chosen:
            name = title.lower().replace(" ", "-").replace("'", "") + ".md"
            result[PAGES / name] = list_page(title, introduction, chosen)
    index = [f"- [{text.splitlines()[0][2:]}]({path.name})" for path, text in result.items()]
    result[PAGES / "README.md"] = "\n".join(
        [
            "# Language reference",
            "",
            "Written by `scripts/reference.py` from the compiler's tables; `help(tl.load)` and editors show the same.",
            "",
            "A *constant* is what is known while compiling: a literal, a `tl.constexpr`, and what follows from them; a run-time",
            "value in its place is an error. A *scalar* is one number of run time or a constant, a *tile* has dimensions.",
            "*Errors* are a `CompilationError` with the line, at the first launch, unless they are named.",
            "",
            *index,
            "",
        ]
    )
    return result


def undocumented():
    """`tl.NAME: PARAMETER` of the public functions whose parameter lacks a kind or a meaning."""
    return [
        f"{row.space}.{row.name}: {name}"
        for row in builtin_rows()
        if row.space != "lib" and not row.name.startswith("_")
        for name, kind, meaning in row.parameters
        if not (kind and meaning)
    ]


def main():
    """Write the pages, or say which would change; the status is 1 also if parameters lack a text."""
    changed, missing = [], undocumented()
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            changed.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.write_text(text)
    print(f"{len(changed)} pages {'differ' if '--check' in sys.argv else 'written'}: {changed}")
    if missing:
        print(f"{len(missing)} parameters without kind or meaning: {missing}")
    return 1 if missing or (changed and "--check" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
