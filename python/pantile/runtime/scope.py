"""The names that a function's text reads, and where Python looks them up."""

import ast

from ..language.constexpr import constexpr

MISSING = object()
PLAIN = (bool, int, float, complex, str, type(None))


def parse(text):
    """Return the `ast.Module` of a text; SyntaxError if it is none.

    CPython before 3.12 counts the depth of all threads together while it makes a tree. Its garbage
    collector may run in between, and where that calls Python, as JAX makes it do, other threads go
    on: if one of them parses, the count is wrong and the parser raises a SystemError.
    """
    for _ in range(20):
        try:
            return ast.parse(text)
        except SystemError:
            continue
    return ast.parse(text)


class Names(ast.NodeVisitor):
    """The names that a function reads, those of its defaults, and its dotted paths."""

    def __init__(self, text):
        self.read, self.defaults, self.paths = set(), set(), set()
        function = parse(text).body[0]
        self.visit(function)
        for default in [*function.args.defaults, *function.args.kw_defaults]:
            if default is not None:
                self.defaults |= {
                    node.id for node in ast.walk(default) if isinstance(node, ast.Name)
                }

    def visit_Name(self, node):
        self.read.add(node.id)

    def visit_Attribute(self, node):
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            path.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            self.paths.add((root.id, tuple(reversed(path))))
        self.generic_visit(node)


class Scope:
    """Where a function looks its free names up: its closure, then its module."""

    def __init__(self, fn):
        if fn is None:
            raise RuntimeError(
                "a jit function that was restored from a pickle compiles no kernels: its Python "
                "function stayed in the process that pickled it"
            )
        self.globals = fn.__globals__
        self.captured, self.cells = {}, {}
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
            try:
                self.captured[name] = cell.cell_contents
                self.cells[name] = cell
            except ValueError:  # assigned later in the enclosing function, or never
                pass
        self.local = set(fn.__code__.co_varnames)

    def find(self, name):
        """The value of `name` and its namespace, a dict or a cell; MISSING and None if there is none."""
        if name in self.captured:
            return self.captured[name], self.cells[name]
        if name in self.local:
            return MISSING, None
        if name in self.globals:
            return self.globals[name], self.globals
        return MISSING, None

    def is_annotated_constexpr(self, name):
        annotation = self.globals.get("__annotations__", {}).get(name)
        return annotation is constexpr or (
            isinstance(annotation, str) and annotation.split(".")[-1] == "constexpr"
        )
