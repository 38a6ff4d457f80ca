"""Finds the names that each collected test reaches, without running it.

Needs: pytest; the test modules import.
Gives: Collector, a pytest plugin: after `--collect-only`, `tests` lists for each test its names and
       element types.
How:   from a test function through the globals that it mentions to jit functions and what they
       call; a name inside of `if OP == "text"` counts only for tests that mention "text". Python
       functions are read from their code objects, jit functions from their syntax trees. A parameter
       that is the name of a libdevice function counts as its use (its tests make kernels from the
       name).
"""

import ast
import types
from dataclasses import dataclass, field

from tests.fuzz.dtypes import LONG

SHORT = {**{name: name for name in LONG}, **{long: short for short, long in LONG.items()}}
LANGUAGE_ROOTS = ("pantile.language", "triton.language")


@dataclass
class CoveredTest:
    """`names`: "sum", "libdevice.exp"; `dtypes`: short names; `gpu`: also runs on a GPU."""

    id: str
    names: set = field(default_factory=set)
    dtypes: set = field(default_factory=set)
    devices: set = field(default_factory=set)


def is_jit(value):
    return hasattr(value, "src") and hasattr(value, "fn") and hasattr(value, "arg_names")


def unwrapped(value):
    """The jit function under autotune and heuristics."""
    while not is_jit(value) and hasattr(value, "fn"):
        value = value.fn
    return value


def strings_of(value):
    """All strings in a parameter, a constant or a table of the module."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return strings_of(list(value)) | strings_of(list(value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return set().union(*(strings_of(v) for v in value)) if value else set()
    return set()


class JitNames(ast.NodeVisitor):
    """The dotted paths and method names in a jit function, each with the texts that guard it."""

    def __init__(self, source):
        self.found, self.guards = [], ()
        self.visit(ast.parse(source))

    def visit_If(self, node):
        self.visit(node.test)
        texts = self._texts(node.test)
        outer = self.guards
        if texts:
            self.guards = (*outer, texts)
        for statement in node.body:
            self.visit(statement)
        self.guards = outer
        for statement in node.orelse:
            self.visit(statement)

    @staticmethod
    def _texts(test):
        """The texts of `X == "text"`, also within `or`; None for other conditions."""
        parts = (
            test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
        )
        texts = set()
        for part in parts:
            if not (isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq)):
                return None
            constants = [c for c in (part.left, *part.comparators) if isinstance(c, ast.Constant)]
            texts |= {c.value for c in constants if isinstance(c.value, str)}
            if not texts:
                return None
        return frozenset(texts)

    def visit_Attribute(self, node):
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            path.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            self.found.append(((root.id, *reversed(path)), self.guards))
        else:
            self.found.append((("", node.attr), self.guards))
        self.generic_visit(node)

    def visit_Name(self, node):
        self.found.append(((node.id,), self.guards))


def scope_of(function):
    scope = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            continue
    return scope


def resolve(path, scope):
    """What a dotted path means, and how many of its parts are modules' or functions'."""
    value = scope.get(path[0])
    for i, part in enumerate(path[1:], 1):
        if not isinstance(value, types.ModuleType) and not _is_language_object(value):
            return value, i
        value = getattr(value, part, None)
    return value, len(path)


def _is_language_object(value):
    return type(value).__module__.startswith(LANGUAGE_ROOTS)


def is_language_module(value):
    return isinstance(value, types.ModuleType) and value.__name__.startswith(LANGUAGE_ROOTS)


class Reach:
    """Names that a jit function reaches, for tests that mention certain texts."""

    def __init__(self):
        self.parsed = {}

    def names(self, function, texts, seen):
        if id(function) in seen:
            return set()
        seen.add(id(function))
        if function not in self.parsed:
            self.parsed[function] = JitNames(function.src).found
        scope, result = scope_of(function.fn), set()
        for path, guards in self.parsed[function]:
            if any(not (guard & texts) for guard in guards):
                continue
            result |= self._one(path, scope, texts, seen)
        return result

    def _one(self, path, scope, texts, seen):
        if path[0] == "":
            return {"." + path[-1]}
        root, value = scope.get(path[0]), None
        value, used = resolve(path, scope)
        result = {"." + part for part in path[used:]} if used < len(path) else set()
        if is_jit(unwrapped(value)):
            return result | self.names(unwrapped(value), texts, seen)
        if is_language_module(root):
            names = path[1 : used if used > 1 else None]
            spelled = "libdevice." if "libdevice" in root.__name__ or "libdevice" in names else ""
            result |= {spelled + name if name == path[used - 1] else name for name in names}
            result |= set(names) - {"libdevice"} if not spelled else set()
        elif _is_language_object(value):  # from pantile.language import load
            reference = getattr(value, "reference", getattr(value, "name", path[-1]))
            result.add(reference.replace("extra.libdevice.", "libdevice."))
        return result


class Collector:
    """The plugin: see `tests` after the collection."""

    def __init__(self):
        self.tests, self.reach = [], Reach()

    def pytest_collection_modifyitems(self, items):
        self.tests = [self._covered(item) for item in items]

    def _covered(self, item):
        callspec = getattr(item, "callspec", None)
        params = dict(callspec.params) if callspec else {}
        device = params.pop("device", None)
        test = CoveredTest(item.nodeid.replace(f"-{device}]", "]").replace(f"[{device}-", "["))
        test.id = test.id.replace(f"[{device}]", "")
        test.devices = {device} if device else ({"cuda"} if "gpu" in item.fixturenames else {"cpu"})
        texts = strings_of(list(params.values()))
        self._walk(item.function, texts, test, set())
        for value in params.values():
            if is_jit(unwrapped(value)):
                test.names |= self.reach.names(unwrapped(value), texts, set())
            elif hasattr(value, "kernel"):  # an example of the reference pages
                test.names |= example_names(value.kernel())
        own = strings_of(list(params.values()))
        # Element types: of the parameters if they name any, else of the function's own text.
        named = {SHORT[t] for t in own if t in SHORT}
        mentioned = {SHORT[t] for t in strings_of(item.function.__code__.co_consts) if t in SHORT}
        test.dtypes = named or mentioned
        if "libdevice" in item.nodeid:
            written = own | strings_of(item.function.__code__.co_consts)
            test.names |= {f"libdevice.{text}" for text in written}
        return test

    def _walk(self, function, texts, test, seen):
        """Through the Python functions that the test calls, to the kernels."""
        function = getattr(function, "__wrapped__", function)
        code = getattr(function, "__code__", None)
        if code is None or id(code) in seen:
            return
        seen.add(id(code))
        scope = scope_of(function)
        for part in _codes(code):
            texts |= strings_of(part.co_consts)
            test.names |= _host_types(part, scope)
        for name in {n for part in _codes(code) for n in part.co_names} | set(code.co_freevars):
            value = scope.get(name)
            inner = unwrapped(value) if value is not None else None
            if is_jit(inner):
                test.names |= self.reach.names(inner, texts, set())
            elif isinstance(value, types.FunctionType) and _is_test_code(value):
                self._walk(value, texts, test, seen)
            elif isinstance(value, (dict, list, tuple)):
                for element in value.values() if isinstance(value, dict) else value:
                    if is_jit(unwrapped(element)):
                        test.names |= self.reach.names(unwrapped(element), texts, set())
        self._nested_kernels(code, function, texts, test)

    def _nested_kernels(self, code, function, texts, test):
        """Kernels defined inside of the test: their code is a constant of the test's."""
        scope = function.__globals__
        for part in _codes(code):
            if part is code:
                continue
            for name in part.co_names:
                value = scope.get(name)
                if is_language_module(value):
                    test.names |= {n for n in part.co_names if hasattr(value, n)}
                elif is_jit(unwrapped(value)):
                    test.names |= self.reach.names(unwrapped(value), texts, set())


def example_names(text):
    """Names of the language in the text of a kernel."""
    found = {path for path, _ in JitNames(text).found}
    names = {name for path in found if path[0] == "tl" for name in path[1:]}
    names |= {f"libdevice.{path[-1]}" for path in found if "libdevice" in path[:-1]}
    # `x[:, None]` is a slice, written as such.
    return names | ({"slice"} if "[:" in text else set())


def _host_types(code, scope):
    """Types of the language that Python code names."""
    modules = [scope.get(n) for n in code.co_names if is_language_module(scope.get(n))]
    found = {n for n in code.co_names for module in modules if hasattr(module, n)}
    return {n for n in found if any(_is_type(getattr(module, n, None)) for module in modules)}


def _is_type(value):
    return isinstance(value, type) or type(value).__name__ in ("dtype", "pointer_type")


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_test_code(function):
    return "site-packages" not in function.__code__.co_filename and (
        "/tests/" in function.__code__.co_filename
    )
