"""Compares docs/machine-constants.md with the source.

Needs: nothing but the checkout.
Gives: a line for each text of the page that its file no longer has, and for each constant of a
       number in the folders of FOLDERS that the page lacks; status 1 if there are any.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/machine-constants.md"
FOLDERS = ("compiler/passes", "compiler/lower", "compiler/analysis")
CELL = re.compile(r"\| `([^`]+)` (?=\|)")
DECLARATION = re.compile(
    r"constexpr (?:static )?(?:unsigned|int|int32_t|int64_t|uint64_t|size_t|double|float)\s+"
    r"([^;(){}]*=[^;]*);"
)


def listed():
    """(file, text) of each row of the page's tables."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = CELL.findall(line) if line.startswith("| `") else []
        if len(cells) > 1:
            yield cells[0], cells[min(len(cells), 3) - 1]


def declared():
    """(file, `name = value`) of each constant of a number."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            for match in DECLARATION.finditer(path.read_text(encoding="utf-8")):
                for part in re.split(r",\s+(?=\w+(?:\[\])? =)", match[1]):
                    yield str(path.relative_to(ROOT)), " ".join(part.split())


def findings():
    """A line for each difference."""
    rows = set(listed())
    for name, text in sorted(rows):
        path = ROOT / name
        source = " ".join(path.read_text(encoding="utf-8").split()) if path.is_file() else ""
        if text not in source:
            yield f"{PAGE.name}: `{text}` is not in `{name}`"
    for name, text in sorted(set(declared())):
        if not any(name == file and text.startswith(known) for file, known in rows):
            yield f"{name}: `{text}` is not in {PAGE.name}"


def main():
    """Print the findings."""
    found = list(findings())
    for line in found:
        print(f"constants: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
