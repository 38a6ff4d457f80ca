"""Reports files, functions and lines beyond the house limits; never fails.

Needs: files as clang-format and ruff leave them, since a C++ function begins on a line of little indentation
that ends with a brace.
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


def without_texts(text):
    """Return C++ without comments and strings, on as many lines."""
    blank = lambda match: "\n" * match[0].count("\n")
    return re.sub(
        r"""R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'\\?.'|//.*|/\*(?:.|\n)*?\*/""", blank, text
    )


def end_of(lines, start):
    """Return the line on which the braces that line `start` opens are closed."""
    depth = 0
    for i in range(start, len(lines)):
        depth += lines[i].count("{") - lines[i].count("}")
        if depth <= 0:
            return i
    return start


def name_of(lines, start):
    """Return the name before the parameters in the head that ends with line `start`, and its first line."""
    head = start
    while head > 0:
        text = "".join(lines[head : start + 1])
        initialises = lines[head].lstrip().startswith((":", ","))
        if "(" in text and text.count("(") >= text.count(")") and not initialises:
            break
        head -= 1
    name = re.search(r"([\w:~]+)\(", "".join(lines[head : start + 1]))
    return name and name[1], head


def cxx_functions(lines):
    """Yield name, first line and length of each function whose body has lines of its own."""
    for start, line in enumerate(lines):
        if OPENING.match(line) and not line.endswith("= {"):
            name, head = name_of(lines, start)
            end = end_of(lines, start)
            if name and end > start:
                yield name, head + 1, end - head + 1


def cxx_findings(lines):
    """Yield what is too long in a C++ file."""
    for name, line, length in cxx_functions(lines):
        if length > FUNCTION_LINES:
            yield line, f"function `{name}` has {length} lines"


def docstring_lines(node):
    """Return how many lines of a function are its docstring."""
    if ast.get_docstring(node) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def python_findings(text):
    """Yield what is too long in a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1 - docstring_lines(node)
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
    if path.suffix in (".cpp", ".h"):
        yield from cxx_findings(without_texts(text).splitlines())
    else:
        yield from python_findings(text)


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
