#!/usr/bin/env python3
"""Writes python/THIRD_PARTY_NOTICES.txt: the licences of what the library and the wheels contain.

Needs: the Debian packages and the virtual environment of `scripts/setup`, whose files hold the texts.
Gives: the file. COMPONENTS is the list of what is linked or included; a new one is added there.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "python/THIRD_PARTY_NOTICES.txt"
DOCUMENTS = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")
LLVM_HEADERS = Path("/usr/lib/llvm-22/include/llvm/Support")

# Name, Debian package, stanzas of its copyright file that concern what is linked, use.
COMPONENTS = [
    ("LLVM and MLIR", "llvm-22-dev", ["*", "llvm/lib/Support/reg*", "llvm/lib/Support/MD5.cpp"],
     "linked into libpantile.so"),
    ("fmt", "libfmt-dev", ["*"], "compiled into libpantile.so"),
    ("Boost.Math", "libboost1.74-dev", ["*"], "compiled into libpantile.so"),
    ("Zstandard", "libzstd-dev", ["*"], "linked into libpantile.so"),
    ("zlib", "zlib1g-dev", ["*"], "linked into libpantile.so"),
    ("CLI11", "libcli11-dev", ["*"], "compiled into pantilec"),
]  # fmt: skip

# Of LLVM's regular expressions, whose file Debian names without it.
SPENCER = """\
Copyright 1992, 1993, 1994 Henry Spencer.  All rights reserved.
This software is not subject to any license of the American Telephone
and Telegraph Company or of the Regents of the University of California.

Permission is granted to anyone to use this software for any purpose on
any computer system, and to alter it and redistribute it, subject
to the following restrictions:

1. The author is not responsible for the consequences of use of this
   software, no matter how awful, even if they arise from flaws in it.

2. The origin of this software must not be misrepresented, either by
   explicit claim or by omission.  Since few users ever read sources,
   credits must appear in the documentation.

3. Altered versions must be plainly marked as such, and must not be
   misrepresented as being the original software.  Since few users
   ever read sources, credits must appear in the documentation.

4. This notice may not be removed or altered.
"""


def stanzas(text):
    """The paragraphs of a Debian copyright file, as dicts of fields."""
    result = []
    for paragraph in re.split(r"\n\s*\n", text):
        fields, name = {}, None
        for line in paragraph.splitlines():
            if match := re.match(r"([A-Za-z-]+): ?(.*)", line):
                name = match[1]
                fields[name] = match[2]
            elif name:
                fields[name] += "\n" + line[1:].rstrip()
        result.append(fields)
    return result


def paragraph_text(text):
    """Licence text without Debian's dots for empty lines."""
    return "\n".join("" if line.strip() == "." else line for line in text.splitlines())


def licence_text(name, all_stanzas):
    """The text of a licence: in the stanza itself, or in one of its own."""
    for fields in all_stanzas:
        first, _, rest = fields.get("License", "").partition("\n")
        if first.strip().lower() == name.lower() and rest.strip():
            return paragraph_text(rest)
    if name.lower() == "bsd-3-clause":  # the text that Debian keeps once for all packages
        return (COMMON / "BSD").read_text(encoding="utf-8")
    raise SystemExit(f"no text of licence {name}")


def debian_notice(package, wanted):
    """Copyright lines and licence texts of a package's stanzas."""
    parts = stanzas((DOCUMENTS / package / "copyright").read_text(encoding="utf-8"))
    out, names = [], []
    for pattern in wanted:
        fields = next(f for f in parts if pattern in f.get("Files", "").split())
        # Of two licences the freer one, which stands first.
        name = fields["License"].partition("\n")[0].partition(" or ")[0].strip()
        out.append(f"{pattern}: {name}\n{fields.get('Copyright', '')}")
        if name not in names:
            names.append(name)
    texts = [f"--- {name}\n{licence_text(name, parts).strip(chr(10))}" for name in names]
    return "\n\n".join([*out, *texts])


def header_comment(path, marker):
    """The comment of a header that has `marker` in it."""
    text = path.read_text(encoding="utf-8")
    comment = next(c for c in re.findall(r"/\*.*?\*/", text, re.S) if marker in c)
    return "\n".join(line.strip(" */") for line in comment.splitlines()).strip()


def version(package):
    """A package's upstream version."""
    out = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package],
                         capture_output=True, text=True, check=True).stdout  # fmt: skip
    return re.split(r"[-~+]", out.rpartition(":")[2])[0]


def sections():
    """(title, text) of each component."""
    for name, package, wanted, use in COMPONENTS:
        yield f"{name} {version(package)}, {use}", debian_notice(package, wanted)
    inside = "within LLVM, linked into libpantile.so"
    yield f"xxHash, {inside}", header_comment(LLVM_HEADERS / "xxhash.h", "Yann Collet")
    yield f"ConvertUTF, {inside}", header_comment(LLVM_HEADERS / "ConvertUTF.h", "Unicode, Inc")
    yield f"Regular expressions, {inside}", SPENCER
    apache = "the Apache License 2.0 with LLVM exceptions, as LLVM"
    yield f"BLAKE3, {inside}", f"Copyright 2019 Jack O'Connor and Samuel Neves\n\nUnder {apache}."
    (path,) = (ROOT / ".venv/lib").glob("python3*/site-packages/pybind11-*/licenses/LICENSE")
    yield "pybind11, compiled into the Python module", path.read_text(encoding="utf-8")
    common = (COMMON / "Apache-2.0").read_text(encoding="utf-8")
    yield "Apache License 2.0, which LLVM's licence extends", common


def page():
    """The text of the file."""
    rule = "=" * 100
    parts = [
        "Pantile's own licence is in LICENSE. Its binaries contain the works below.\n"
        "Written by `scripts/notices.py`."
    ]
    parts += [f"{rule}\n{title}\n{rule}\n\n{text.rstrip()}" for title, text in sections()]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(PAGE.read_text().splitlines())} lines")
    sys.exit(0)
