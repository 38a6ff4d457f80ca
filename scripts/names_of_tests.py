"""Python tests without a docstring whose name does not say what is tested.

It does not where it is one word (`test_rows`), and where a test of another file has the same name.

    python scripts/names_of_tests.py [FILES]

Prints each, and the status is 1 if there is one. Without files, all files of tests that git tracks are read.
"""

import ast
import collections
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


def tests_of(text):
    """(line, name, whether it has a docstring) of each test."""
    for node in ast.walk(ast.parse(text)):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function and node.name.startswith("test_"):
            yield node.lineno, node.name, bool(ast.get_docstring(node))


def findings(texts):
    """(index of the text, line, name) of each such test."""
    tests = [(i, *test) for i, text in enumerate(texts) for test in tests_of(text)]
    files = collections.defaultdict(set)
    for i, _, name, _ in tests:
        files[name].add(i)
    for i, line, name, is_documented in tests:
        if not is_documented and (ONE_WORD.fullmatch(name) or len(files[name]) > 1):
            yield i, line, name


def main(names):
    """Print what is found in the files of these names, or in all; return the exit status."""
    paths = [ROOT / name for name in names or tracked()]
    paths = [path for path in paths if path.is_file()]
    found = list(findings(path.read_text(encoding="utf-8") for path in paths))
    for i, line, test in found:
        name = paths[i].relative_to(ROOT)
        print(f"{name}:{line}: `{test}` needs a docstring, or a name that says what is tested")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
