"""Reports files, functions and lines beyond the house limits; never fails.

Needs: files as clang-format and ruff leave them, since a C++ function's end is found by its
indentation.
Gives: one line a finding, and the sum.
"""

import ast
import re
import sys
from pathlib import Path

FILE_LINES, FUNCTION_LINES, PARAMETERS, COLUMNS = 500, 60, 5, 100
OPENING = re.compile(
    r"^(\s{0,4})(?!namespace|class|struct|enum|extern|union|\}|//|#|else|if|for|while|switch|do\b)"
    r"\S.*\{$"
)


def cxx_functions(lines):
    """Yield name, first line and length of each function whose body has lines of its own."""
    for start, line in enumerate(lines):
        match = OPENING.match(line)
        if not match:
            continue
        head = start
        while head > 0 and "(" not in "".join(lines[head : start + 1]):
            head -= 1
        closing = match.group(1) + "}"
        end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith(closing)), start)
        name = re.search(r"([\w:~]+)\(", "".join(lines[head : start + 1]))
        if name and end > start:
            yield name.group(1), head + 1, end - head + 1


def cxx_findings(lines):
    """Yield what is too long in a C++ file."""
    for name, line, length in cxx_functions(lines):
        if length > FUNCTION_LINES:
            yield line, f"function `{name}` has {length} lines"


def python_findings(text):
    """Yield what is too long in a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if length > FUNCTION_LINES:
                yield node.lineno, f"function `{node.name}` has {length} lines"
            count = len(node.args.args) + len(node.args.posonlyargs)
            if count > PARAMETERS and not node.decorator_list:
                yield node.lineno, f"function `{node.name}` has {count} positional parameters"


def findings(path):
    """Yield (line, text) of everything beyond a limit in one file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > FILE_LINES:
        yield 1, f"file has {len(lines)} lines"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield number, f"line has {len(line)} columns"
    yield from cxx_findings(lines) if path.suffix in (".cpp", ".h") else python_findings(text)


def main():
    """Print the findings in the files of the command line."""
    count = 0
    for name in sys.argv[1:]:
        for line, text in findings(Path(name)):
            print(f"limits: {name}:{line}: {text}")
            count += 1
    print(f"limits: {count} findings")


if __name__ == "__main__":
    main()
