"""Compares docs/machine-constants.md with the source.

Needs: nothing but the checkout.
Gives: a line for each field of the machine's model that the page lacks or has with another value, for
       each text of the page that its file no longer has, for each constant of a number in the folders
       of FOLDERS that the page lacks, and for each limit of an SM that stands as a bare literal in a
       pass or an analysis; status 1 if there are any.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/machine-constants.md"
FOLDERS = ("compiler/passes", "compiler/lower", "compiler/analysis", "compiler/layout")
# Where what is compiled for an SM is decided.
DECIDING = ("compiler/passes", "compiler/analysis")
MODEL = ("compiler/support/MachineModel.h", "compiler/support/MachineThresholds.h")
CELL = re.compile(r"\| `([^`]+)` (?=\|)")
DECLARATION = re.compile(
    r"constexpr (?:static )?(?:unsigned|int|int32_t|int64_t|uint64_t|size_t|double|float)\s+"
    r"([^;(){}]*=[^;]*);"
)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (?:static constexpr )?(?:int|int64_t|double) ([^;(]*=[^;]*);", re.MULTILINE)
# Limits of an SM: registers, shared memory, threads, SMs.
LIMIT = re.compile(
    r"\b(?:65536|65535|64 << 10|232448|233472|227|228|99 << 10|163|164|1024|1 << 10|255|132|108|148)\b"
)
# Comments and strings have no limits; a shift may.
IGNORED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
# What is none: the step from which a constant of an address is a dimension of its own.
NO_LIMITS = {("compiler/analysis/TmaAccess.cpp", "1 << 10")}


def parts(declaration):
    """`name = value` of each variable of a declaration."""
    for part in re.split(r",\s+(?=\w+(?:\[\])? =)", declaration):
        yield " ".join(part.split())


def fields():
    """(struct, `name = value`) of each field of the model that has a value of its own."""
    for name in MODEL:
        for struct in STRUCT.finditer((ROOT / name).read_text(encoding="utf-8")):
            for match in FIELD.finditer(struct[2]):
                yield from (
                    (struct[1], part) for part in parts(match[1]) if not part.endswith("= 0")
                )


def listed():
    """(file or struct, text) of each row of the page's tables."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = CELL.findall(line) if line.startswith("| `") else []
        if len(cells) > 1 and "/" in cells[0]:
            yield cells[0], cells[min(len(cells), 3) - 1]
        elif len(cells) > 1 and " = " in cells[1]:
            yield cells[0], cells[1]


def declared():
    """(file, `name = value`) of each constant of a number that is not the model's."""
    for path, text in sources(FOLDERS):
        for match in DECLARATION.finditer(text):
            for part in parts(match[1]):
                if "InstructionSet::" not in part and "Thresholds()" not in part:
                    yield path, part


def sources(folders):
    """(path, text) of the C++ files."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def limits():
    """(file, line, literal) of what looks like a limit of an SM in a pass or an analysis."""
    for path, text in sources(DECIDING):
        for number, line in enumerate(text.splitlines(), 1):
            for match in LIMIT.finditer(IGNORED.sub("", line)):
                if (path, match[0]) not in NO_LIMITS:
                    yield path, number, match[0]


def findings():
    """A line for each difference."""
    rows, own = set(listed()), set(fields())
    for struct, text in sorted(own - rows):
        yield f"{struct}: `{text}` is not in {PAGE.name}"
    for name, text in sorted(rows - own):
        path = ROOT / name
        source = " ".join(path.read_text(encoding="utf-8").split()) if path.is_file() else ""
        if text not in source:
            yield f"{PAGE.name}: `{text}` is not in `{name}`"
    for name, text in sorted(set(declared())):
        if not any(name == file and text.startswith(known) for file, known in rows):
            yield f"{name}: `{text}` is not in {PAGE.name}"
    for name, number, text in limits():
        yield f"{name}:{number}: `{text}` looks like a limit of an SM, which MachineModel has"


def main():
    """Print the findings."""
    found = list(findings())
    for line in found:
        print(f"constants: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
