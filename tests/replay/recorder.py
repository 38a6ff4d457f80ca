"""Compiles what is launched for every target, and writes what the code is.

Needs: pantile, a folder.
Gives: `Recorder`: a line of JSON per kernel and target in a file of this process; `read_lines`.
How:   a kernel's name has its suite, its function and a digest of the text of all functions that it
       reaches, of the types, the constants and the options: names are the same in any process and
       at any commit that changes none of these. Line information is left out.
"""

import hashlib
import json
import os
import re
from pathlib import Path

TARGETS = ("sm_90a", "sm_80", "sm_120")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def digest(text, length=16):
    return hashlib.sha256(text.encode()).hexdigest()[:length]


class Recorder:
    """Writes to `folder`; with `texts` also the PTX, a file per kernel and target."""

    def __init__(self, folder, texts=False):
        self.folder, self.texts = Path(folder), texts
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = (self.folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8")
        self._seen = set()

    def record(self, suite, function, call):
        """Compile what `function` is launched with by `call`, a call that its dispatcher prepared."""
        from pantile.compiler.compiler import ASTSource
        from pantile.runtime.snapshot import Snapshot

        snapshot = Snapshot(function)
        specialization = call.specialization(snapshot.constant)
        source = ASTSource.of_specialization(function, specialization, call.values)
        self._compile(suite, snapshot, source, specialization, call.options)

    def record_source(self, suite, source, options):
        """Compile `source`, an ASTSource, with the keywords of a launch."""
        from pantile.runtime.snapshot import Snapshot

        snapshot = Snapshot(source.fn)
        specialization = source.specialization(snapshot.constant)
        self._compile(suite, snapshot, source, specialization, options)

    def _compile(self, suite, snapshot, source, specialization, options):
        program = snapshot.program()
        about = _describe(source, options)
        texts = "".join(getattr(function, "src", "") for function in snapshot.functions)
        name = f"{suite}/{source.fn.__name__}#{digest(texts + about, 8)}"
        for target in TARGETS:
            text = _ptx(program, specialization, target, options, source.fn.debug)
            self._write(name, target, text, about)

    def _write(self, name, target, text, about):
        found = (name, target, digest(text))
        if found in self._seen:
            return
        self._seen.add(found)
        line = {"name": name, "target": target, "hash": found[2], "about": about}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if self.texts:
            path = text_path(self.folder, name, target, found[2])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def text_path(folder, name, target, value):
    return Path(folder) / name.replace("#", "-") / f"{target}-{value}.ptx"


def _describe(source, options):
    """Types, alignment, constants and options as one line; the same in each process."""
    parts = [f"{name}: {kind}" for name, kind in source.signature.items() if kind != "constexpr"]
    parts += [f"{path}:16" for path in sorted(source.attrs)]
    names = source.fn.arg_names
    for path, value in sorted(source.constants.items()):
        where = ".".join(map(str, path[1:]))
        parts.append(f"{names[path[0]]}{where and '.'}{where} = {_value_text(value)}")
    parts += [f"{name} = {_value_text(value)}" for name, value in sorted(options.items())]
    return ", ".join(parts)


def _value_text(value):
    name = getattr(value, "__name__", None)
    return name if name is not None else _ADDRESS.sub("", repr(value))


def _ptx(program, specialization, target, keywords, debug):
    """The code; of a refusal its kind, since words may change."""
    from pantile import _pantile
    from pantile.compiler.options import make_options

    options = make_options(target, keywords, debug)
    options.line_info = False
    try:
        compiled = _pantile.compile(
            program, specialization, options, use_cache=False, stop_after="ptx"
        )
    except Exception as problem:
        return f"refused: {type(problem).__name__}\n"
    return compiled.text["ptx"]


def read_lines(folder):
    """{(name, target): (hashes that processes found, sorted; description)}"""
    found = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            hashes, _ = found.setdefault((row["name"], row["target"]), (set(), row["about"]))
            hashes.add(row["hash"])
    return {key: (sorted(hashes), about) for key, (hashes, about) in sorted(found.items())}
