#!/usr/bin/env python3
"""Writes docs/dialects/*.md: operations, attributes and types of the dialects, by mlir-tblgen.

Needs: mlir-tblgen of LLVM 22 (MLIR_TBLGEN names another one), compiler/ir/*.td.
Gives: a page a dialect; with --check status 1 if one would change.
How:   of what mlir-tblgen writes, C++ names, traits and effects are left out: a reader of the IR
       has no use for them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/dialects"
LLVM = Path("/usr/lib/llvm-22")
DIALECTS = {"tile": "TileOps.td", "nv": "NvOps.td"}


def generator():
    """The path of mlir-tblgen."""
    return os.environ.get("MLIR_TBLGEN") or str(LLVM / "bin/mlir-tblgen")


def page(dialect, source):
    """The page of a dialect."""
    folders = ["-I", "compiler", "-I", "compiler/ir", "-I", str(LLVM / "include")]
    command = [generator(), "-gen-dialect-doc", f"-dialect={dialect}", *folders]
    command.append(f"compiler/ir/{source}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    text = re.sub(r"\A<!--.*?-->\s*|^\[TOC\]\n", "", done.stdout, flags=re.S | re.M)
    text = re.sub(r"^# '(\w+)' Dialect$", r"# The dialect `\1`", text, flags=re.M)
    text = re.sub(r"^(### `[\w.]+`) \(.*\)$", r"\1", text, flags=re.M)
    text = re.sub(r"^(?:Traits|Interfaces|Effects): .*\n", "", text, flags=re.M)
    text = re.sub(r"^#### (\w+):$", r"#### \1", text, flags=re.M)
    said = f"Written by `scripts/dialect_pages.py` from `compiler/ir/{source}`."
    first, _, rest = text.partition("\n")
    rest = re.sub(r"[ \t]+$", "", rest, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", f"{first}\n\n{said}\n{rest}").rstrip() + "\n"


def main():
    """Write the pages, or say which would change."""
    stale = []
    for dialect, source in DIALECTS.items():
        path, text = PAGES / f"{dialect}.md", page(dialect, source)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print(f"{len(stale)} pages {'differ' if '--check' in sys.argv else 'written'}: {stale}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
