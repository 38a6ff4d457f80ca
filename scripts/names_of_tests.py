"""Python tests whose name is one word (`test_rows`) and that have no docstring: the word does not say what is tested.

    python scripts/names_of_tests.py [FILES]

Prints each, and the status is 1 if there is one. Without files, all files of tests that git tracks are read.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE_WORD = re.compile(r"test_[a-z0-9]+")


def tracked():
    """Names of the files of tests."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "tests/*.py"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    return [name for name in names if Path(name).name.startswith("test_")]


def findings(text):
    """(line, name) of each such test."""
    for node in ast.walk(ast.parse(text)):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function and ONE_WORD.fullmatch(node.name) and not ast.get_docstring(node):
            yield node.lineno, node.name


def main(names):
    """Print what is found in the files of these names, or in all; return the exit status."""
    found = 0
    for name in names or tracked():
        path = ROOT / name
        if not path.is_file():
            continue
        for line, test in findings(path.read_text(encoding="utf-8")):
            print(f"{name}:{line}: `{test}` needs a docstring, or a name that says what is tested")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
