"""Hashes of the PTX of a set of kernels, to compare before and after a change that should alter nothing.

Needs: pantile, as it was and as it is.
Gives: `python -m tests.replay record FILE` writes a line a kernel and target; `compare FILE` names those
       that differ and exits with status 1 if there are any.
How:   the kernels are generated programs of a fixed seed, so that they reach all of the compiler. Line
       information is left out.
"""

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

from tests.fuzz.generator import draw_program
from tests.fuzz.running import TARGETS, compile_for, load_kernel

COUNT = 60


def hashes(folder):
    """(kernel and target, hash of the PTX) of every kernel; a refusal counts with its text."""
    for index in range(COUNT):
        program = draw_program(f"replay.{index}")
        kernel = load_kernel(program, folder, f"replay_{index}")
        for target in TARGETS:
            try:
                text = compile_for(program, kernel, target, "ptx", line_info=False).text["ptx"]
            except Exception as problem:
                text = f"{type(problem).__name__}"
            yield f"{index}:{target}", hashlib.sha256(text.encode()).hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(prog="tests.replay", description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        now = dict(hashes(folder))
    if options.action == "record":
        options.file.write_text("".join(f"{name} {value}\n" for name, value in now.items()))
        print(f"{len(now)} hashes in {options.file}")
        return 0
    before = dict(line.split() for line in options.file.read_text().splitlines())
    changed = [name for name, value in now.items() if before.get(name) != value]
    print(f"{len(changed)} of {len(now)} kernels have other code: {' '.join(changed)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
