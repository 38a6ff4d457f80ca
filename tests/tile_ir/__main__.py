"""Run all passes over kept tile IR, and name each file on which they fail.

Needs: `pantile-passes`, of a build with sanitizers as a rule; folders of files that
       `tests/python/compiled_kernels.py` kept.
Gives: each failure with what the tool said, a JUnit file with a case per file; status 1 if any failed.
How:   each process runs many files and ends at the first that fails; the next one goes on after it.
       With a seed, kernels that differ in numbers alone, such as extents, widths and targets, are of one
       form: one of each form runs, and one in `REST` of the others. Another seed draws others.

Usage: python -m tests.tile_ir --tool PROGRAM [--report XML] [--seed TEXT] FOLDER...
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHUNK = 40
REST = 8
NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?a?")
SYMBOLIZER = "/usr/lib/llvm-22/bin/llvm-symbolizer"
# LLVM is not instrumented: it neither marks nor unmarks what its containers and allocators hold.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    **({"ASAN_SYMBOLIZER_PATH": SYMBOLIZER} if Path(SYMBOLIZER).exists() else {}),
}


def draw_files(files, seed):
    """One of `files` of each form, and some of the others."""

    def number(file):
        return hashlib.sha256(f"{seed} {file.name}".encode()).digest()

    forms, drawn = set(), []
    for file in sorted(files, key=number):
        form = hashlib.sha256(NUMBER.sub("", file.read_text()).encode()).digest()
        if form not in forms or number(file)[-1] % REST == 0:
            drawn.append(file)
        forms.add(form)
    return sorted(drawn)


def run_files(tool, files):
    """The files on which the passes fail, each with what was said."""
    failures = {}
    while files:
        done = subprocess.run(
            [tool, *files], env={**os.environ, **SANITIZERS}, capture_output=True, text=True
        )
        if done.returncode == 0:
            break
        lines = done.stdout.splitlines()
        last = lines[-1].split(": ")[0] if lines else str(files[0])
        at = next(i for i, file in enumerate(files) if str(file) == last)
        said = done.stderr or f"status {done.returncode}"
        failures[files[at]] = f"{lines[-1] if lines else ''}\n{said}"
        files = files[at + 1 :]
    return failures


def write_report(path, files, failures):
    suite = ElementTree.Element("testsuite", name="tile-ir", tests=str(len(files)))
    for file in files:
        case = ElementTree.SubElement(suite, "testcase", classname="tile-ir", name=file.stem)
        if file in failures:
            ElementTree.SubElement(case, "failure", message=failures[file][:200])
    ElementTree.ElementTree(suite).write(path)


def main():
    parser = argparse.ArgumentParser(prog="tests.tile_ir", description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--seed", help="runs some of the files; all without it")
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    # A file that two folders have is the same kernel.
    files = list({f.name: f for folder in options.folders for f in sorted(folder.glob("*.mlir"))}.values())
    if options.seed is not None:
        files = draw_files(files, options.seed)
    chunks = [files[i : i + CHUNK] for i in range(0, len(files), CHUNK)]
    failures = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda chunk: run_files(options.tool, chunk), chunks):
            failures |= found
            for file, said in found.items():
                print(f"{file}:\n{said}", flush=True)
    if options.report:
        write_report(options.report, files, failures)
    print(f"passes over the tile IR of {len(files)} kernels: {len(failures)} failed")
    return 1 if failures or not files else 0


if __name__ == "__main__":
    sys.exit(main())
