"""The names that a function's text reads, and where Python looks them up."""

import ast

from ..language.constexpr import constexpr

MISSING = object()
PLAIN = (bool, int, float, str, type(None))


class Names(ast.NodeVisitor):
    """The names that a function reads, those of its defaults, and its dotted paths."""

    def __init__(self, text):
        self.read, self.defaults, self.paths = set(), set(), set()
        function = ast.parse(text).body[0]
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
        self.globals = fn.__globals__
        self.captured = {}
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
            try:
                self.captured[name] = cell.cell_contents
            except ValueError:  # assigned later in the enclosing function, or never
                pass
        self.local = set(fn.__code__.co_varnames)

    def find(self, name):
        """The value of `name` and its namespace; MISSING and None if there is none."""
        if name in self.captured:
            return self.captured[name], self.captured
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


class GlobalUse:
    """A constant that a kernel read, where it was found, and its value then."""

    __slots__ = ("function", "name", "namespace", "value")

    def __init__(self, function, name, namespace, value):
        self.function, self.name, self.namespace, self.value = function, name, namespace, value

    def check(self):
        """Raise RuntimeError if the constant has another value now."""
        now = self.namespace.get(self.name, MISSING)
        if now is self.value or (
            type(now) is type(self.value) and _plain(now) == _plain(self.value)
        ):
            return
        shown = "no value" if now is MISSING else f"value {now!r}"
        raise RuntimeError(
            f"Global variable {self.name} has {shown}, but when kernel {self.function} was first compiled it "
            f"had value {self.value!r}"
        )


def _plain(value):
    return value.value if isinstance(value, constexpr) else value
