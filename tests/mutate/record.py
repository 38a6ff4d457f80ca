"""Which tests launch which PTX, on the emulated GPU, without any mistake.

Needs: a finished build.
Gives: `take` runs the tests and keeps what they launched; `Record` reads it: tests by name, and the instructions of
       each text.
How:   build/mutate/TARGET/results has the tests, build/mutate/TARGET/ptx the texts. Tests that fail are left out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = ("tests/python", "tests/kernels")
TARGETS = ("sm_90a", "sm_80")


def environment(build, target, **more):
    """The variables with which a process has the emulated GPU `target`."""
    return {
        "VIRTUAL_ENV": str(ROOT / ".venv"),
        **os.environ,
        "PYTHONPATH": str(build / "python"),
        "PANTILE_EMULATE": "1",
        "PANTILE_EMULATED_TARGET": target,
        "PANTILE_CACHE_DIR": str(build / "mutate" / "cache"),
        **more,
    }


def pytest_command(folder, *options):
    """Pytest with the plugin, which writes to `folder`."""
    plain = ["-q", "-p", "no:cacheprovider", "-p", "tests.mutate.plugin", "--tb=no"]
    return [sys.executable, "-m", "pytest", *plain, "--results", str(folder), *options]


def take(build, target, jobs, tests=SUITE, each=0):
    """Run `tests` and keep which texts they launch; the whole suite begins a new record, others add to it."""
    folder = build / "mutate" / target
    if tests == SUITE:
        shutil.rmtree(folder, ignore_errors=True)
    (folder / "ptx").mkdir(parents=True, exist_ok=True)
    command = pytest_command(folder / "results", "-n", str(jobs), "--each", str(each), *tests)
    variables = environment(build, target, PANTILE_EMULATION_RECORD=str(folder / "ptx"))
    subprocess.run(command, cwd=ROOT, env=variables)
    return Record(build, target)


class Record:
    """What the tests of one target launch."""

    def __init__(self, build, target):
        self.folder = build / "mutate" / target
        last = {line["test"]: line for line in read_results(self.folder / "results")}
        self.tests = {
            name: line
            for name, line in last.items()
            if line["outcome"] == "passed" and line["texts"]
        }
        names = {name for test in self.tests.values() for name in test["texts"]}
        self.instructions = {
            name: instructions((self.folder / "ptx" / f"{name}.ptx").read_text()) for name in names
        }

    def texts_with(self, pattern):
        """Names of the texts that have an instruction with `pattern`."""
        wanted = re.compile(pattern, re.MULTILINE)
        return {name for name, text in self.instructions.items() if wanted.search(text)}

    def tests_with(self, texts):
        """The tests that launch any of `texts`, the fastest first."""
        chosen = [test for test in self.tests.values() if texts.intersection(test["texts"])]
        return sorted(chosen, key=lambda test: test["seconds"])


def read_results(folder):
    """The lines that the plugin wrote, of all processes, the oldest first."""
    for path in sorted(folder.glob("tests.*.jsonl"), key=lambda path: path.stat().st_mtime):
        for line in path.read_text().splitlines():
            yield json.loads(line)


def instructions(text):
    """The different instructions of a text of PTX, a line each, as the emulated driver cuts them."""
    text = re.sub(r"//[^\n]*|^\s*\.(?!reg)[^\n]*", "", text, flags=re.MULTILINE)
    leading = re.compile(r"^(\s*([$\w]+:(?!:)|[{})(]))*\s*")
    pieces = {" ".join(leading.sub("", piece).split()) for piece in text.split(";")}
    return "\n".join(sorted(pieces))


__all__ = [
    "ROOT",
    "SUITE",
    "TARGETS",
    "Record",
    "environment",
    "pytest_command",
    "read_results",
    "take",
]
