"""Runs a pass over one function of its test and shows the function before and after.

Needs: `pantile-opt`, and a `.mlir` whose values have names.
Gives: Markdown: two listings with the values' names, cut to the lines that change and those around.
How:   names do not outlive parsing, so each value's place in the text becomes a location with its name,
       which the printer takes as a prefix. A line is compared as it is shown, without layouts.
"""

import difflib
import re
import subprocess

MARK = "// Example."
WIDTH = 132
LONG = 100
AROUND = 1
WHOLE = 18
ARITHMETIC = re.compile(
    r"\s*(%[^=]* = )?(arith\.(?!\w*f\b)|"
    r"tile\.(splat|broadcast|expand_dims|addptr|arange|convert_layout)\b|nv\.(dealloc|slot)\b)"
)
WITH_LAYOUTS = ("tile-assign-layouts",)


def sections(text):
    """The parts of a test that are run apart from each other."""
    return re.split(r"^// -----.*\n", text, flags=re.M)


def chosen(text):
    """The section that has the example, without its other functions."""
    parts = sections(text)
    part = next((p for p in parts if MARK in p), next(p for p in parts if "func.func" in p))
    pattern = r"^([ ]*)func\.func .*?(?:\{ return \}|^\1\})\n"
    functions = list(re.finditer(pattern, part, re.S | re.M))
    after = part.find(MARK)
    wanted = next(f for f in functions if f.start() > after)
    for function in reversed(functions):
        if function is not wanted:
            part = part[: function.start()] + part[function.end() :]
    return "\n".join(re.sub(r"^\s*//.*", "", line) for line in part.split("\n"))


def named(text, name_of):
    """Replace each place in the printed text by the name that `name_of(line, column)` finds there."""

    def replace(match):
        name = name_of(int(match[1]), int(match[2]))
        return f'loc("{name}")' if name else "loc(unknown)"

    return re.sub(r'loc\("[^"]*":(\d+):(\d+)\)', replace, text)


def names_in(source):
    """Find the name of the value that an operation or an argument at a place of `source` defines."""
    lines = source.split("\n")

    def name_of(line, column):
        before, behind = lines[line - 1][: column - 1], lines[line - 1][column - 1 :]
        found = re.match(r"%([A-Za-z_]\w*)", behind) or re.search(
            r"%([A-Za-z_]\w*)(?::\d+)?(?:, .*)? = $", before
        )
        return found[1] if found else ""

    return name_of


class Examples:
    """Listings made by one `pantile-opt`."""

    def __init__(self, tool):
        self.tool = tool

    def run(self, text, *options):
        """The text after `pantile-opt`, and what it said."""
        done = subprocess.run([self.tool, *options], input=text, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(options)}: {done.stderr}")
        return done.stdout, done.stderr

    def lines(self, name, path):
        """The listings for pass `name`, from its test `path`."""
        text = path.read_text(encoding="utf-8")
        source = chosen(text)
        flags = ["--mlir-print-op-generic", "--mlir-print-debuginfo", "--mlir-print-local-scope"]
        generic = named(self.run(source, *flags)[0], names_in(source))
        option = re.search(
            rf"RUN: pantile-opt .*?--?({name}\b(?:=(?:'[^']*'|\"[^\"]*\"|\S+))?)", text
        )[1]
        option = re.sub("[\"']", "", option)
        by_name = "--mlir-use-nameloc-as-prefix"
        before = self.run(generic, by_name)[0]
        after, said = self.run(generic, by_name, f"--{option}")
        keep = name in WITH_LAYOUTS
        return compared(shown(before, keep), shown(after, keep), remarks(said))


def remarks(text):
    """The messages of remarks, once each."""
    found = dict.fromkeys(re.findall(r"remark: (.*)", text))
    return [re.sub(r'loc\("(\w+)"\): ', r"%\1: ", line) for line in found]


def shown(text, keep_layouts):
    """The lines of a printed module, without what says nothing of a pass."""
    if not keep_layouts:
        text = re.sub(r"(tensor<[^<>]*(?:<[^<>]*>)?[^<>]*?), #[a-z]\w*>", r"\1>", text)
        text = re.sub(r"^#layout\d* = .*\n", "", text, flags=re.M)
    text = re.sub(r"(x \w+), <\[[^<>]*\], \d+>>", r"\1>", text)
    text = re.sub(r"x\[", "x [", text)
    text = re.sub(r" ?\{tile\.divisibility = \d+ : i32\}", "", text)
    text = re.sub(r"%c(-?\d+)_i(?:32|64)(?:_\d+)?\b", r"%c\1", text)
    text = re.sub(r"(?<== )(-?\d+) : i32(?=[,}])", r"\1", text)
    text = re.sub(r" attributes \{tile\.kernel\}", "", text)
    text = re.sub(
        r"^(\s*(?:%[^=]* = )?scf\.for .*?)(?: -> \(.*\))? +: \w+ \{$", r"\1 {", text, flags=re.M
    )
    text = re.sub(r"^#map\d* = .*\n", "", text, flags=re.M)
    lines = [line for line in map(without_target, text.split("\n")) if line.strip()]
    if lines[-1] == "}":
        lines.pop()
    margin = min(len(line) - len(line.lstrip()) for line in lines if "func.func" in line)
    indented = " " * margin
    return [line[margin:] if line.startswith(indented) else line for line in lines]


def without_target(line):
    """The line of a module with the attributes that passes add; nothing if there is none."""
    if not line.startswith("module"):
        return line
    attributes = re.findall(r"nv\.\w+(?: = (?:array<[^>]*>|[^,}]*))?", line)
    return f"module attributes {{{', '.join(attributes)}}} {{" if attributes else ""


def without_types(line):
    """An operation without its types where it is long."""
    if len(line) <= LONG or "func.func" in line or line.startswith(("module", "#")):
        return line
    return re.sub(r"^(\s*(?:%[^=]* = )?[\w.]+ .*?) : [!(<\w].*$", r"\1", line)


def shorten(line):
    """A line of at most WIDTH columns."""
    line = without_types(line)
    return line if len(line) <= WIDTH else line[: WIDTH - 2] + " …"


def folded(lines, kept):
    """The lines whose numbers are kept, and an ellipsis for each run of others."""
    result, gap = [], False
    for i, line in enumerate(lines):
        if i in kept:
            result.append(line)
        elif not gap:
            result.append(" " * (len(line) - len(line.lstrip())) + "…")
        gap = i not in kept
    return result


def excerpt(lines, changed):
    """The lines that changed and those around them; of many, those that are more than arithmetic."""
    if len(lines) <= WHOLE:
        return lines
    around = {i + d for i in changed for d in range(-AROUND, AROUND + 1)}
    always = {i for i, line in enumerate(lines) if "func.func" in line or "scf.for" in line}
    always.add(len(lines) - 1)
    kept = (around & set(range(len(lines)))) | always
    if len(kept) > WHOLE:
        kept = {i for i in kept if not ARITHMETIC.match(lines[i])}
    return folded(lines, kept)


def block(lines):
    """A listing in Markdown."""
    return ["```text", *map(shorten, lines), "```"]


def compared(before, after, said):
    """Two listings, or one with the remarks where nothing changes."""
    if before == after:
        found = [f"remark: {line}" for line in said]
        return [*block(before), "", *(block(found) if found else ["It stays as it is."])]
    if before[0] == after[0] and before[0].startswith("module"):
        before, after = before[1:], after[1:]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    old, new = set(), set()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            old |= set(range(a, b)) or {a}
            new |= set(range(c, d)) or {c}
    return [*block(excerpt(before, old)), "", "becomes", "", *block(excerpt(after, new))]
