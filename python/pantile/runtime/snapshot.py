"""What the global names of a kernel mean, taken once as plain data.

A Snapshot walks from one jit function to all that it can reach and gives the compiler their texts
and, for each, a map from global or captured names to values. After that the compiler needs no
Python. A foreign module or class (`shapes.BLOCK`) becomes a named tuple of those members that the
function reads. The constants found are remembered, so that a launch can tell that one changed.
"""

import ast
import types

from .. import arith, knobs, language
from ..language.constexpr import const, constexpr
from ..language.dtypes import dtype, pointer_type
from ..language.names import Builtin, module_names

_MISSING = object()
_HOST_FUNCTIONS = {arith.cdiv: "triton.cdiv", arith.next_power_of_2: "triton.next_power_of_2"}
_PLAIN = (bool, int, float, str, type(None))


class GlobalUse:
    """A constant that a kernel read, where it was found, and its value then."""

    __slots__ = ("function", "name", "namespace", "value")

    def __init__(self, function, name, namespace, value):
        self.function, self.name, self.namespace, self.value = function, name, namespace, value

    def check(self):
        now = self.namespace.get(self.name, _MISSING)
        if now is self.value or (
            type(now) is type(self.value) and _plain(now) == _plain(self.value)
        ):
            return
        raise RuntimeError(
            f"Global variable {self.name} has value {now!r}, but when kernel {self.function} was first compiled it "
            f"had value {self.value!r}"
        )


def _plain(value):
    return value.value if isinstance(value, constexpr) else value


class _Namespace(tuple):
    """Values with names: what is left of a module."""

    @staticmethod
    def of(members):
        values = [_Namespace.of(v) if isinstance(v, dict) else v for v in members.values()]
        result = _Namespace(values)
        result._fields = tuple(members)
        return result


class _Names(ast.NodeVisitor):
    """The names that a function reads, those of its defaults, and the dotted paths rooted at a name."""

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


class Snapshot:
    """The functions that a kernel can reach, the kernel first."""

    def __init__(self, kernel):
        self.functions, self.uses = [], []
        self._index, self._described = {}, []
        self._reference(kernel)
        self._describe_all()

    def program(self):
        from .. import _pantile

        self._describe_all()
        return _pantile.Program(self._described, 0)

    def constant(self, value):
        """Return `value` in a form that the compiler takes; TypeError if it is no compile-time value."""
        converted = self._convert(value, allow_plain=True)
        if converted is None and value is not None:
            raise TypeError(f"a value of type `{type(value).__name__}` is no compile-time constant")
        return converted

    def _reference(self, function):
        from .. import _pantile

        position = self._index.setdefault(id(function), len(self.functions))
        if position == len(self.functions):
            self.functions.append(function)
        return _pantile.FunctionRef(position)

    def _describe_all(self):
        while len(self._described) < len(self.functions):
            self._described.append(self._describe(self.functions[len(self._described)]))

    def _describe(self, function):
        return {
            "name": function.fn.__name__,
            "text": function.src,
            "file": function.file,
            "first_line": function.first_line,
            "indent": function.indent,
            "noinline": bool(function.noinline),
            "globals": self._globals(function),
        }

    def _globals(self, function):
        names = _Names(function.src)
        scope = _Scope(function.fn)
        result = {}
        for name in sorted(names.read):
            value, namespace = scope.find(name)
            if value is _MISSING:
                continue
            allowed = name in names.defaults or scope.is_annotated_constexpr(name)
            converted = self._convert(
                value, allowed or knobs.compilation.allow_non_constexpr_globals
            )
            if converted is None and value is not None:
                converted = _opaque(name, value)
            elif isinstance(value, (*_PLAIN, constexpr, tuple)):
                if value is None and not allowed:
                    converted = _opaque(name, value)
                self.uses.append(GlobalUse(function.fn.__name__, name, namespace, value))
            result[name] = converted
        for root, value in self._namespaces(function, names, scope).items():
            result[root] = _Namespace.of(value)
        return result

    def _namespaces(self, function, names, scope):
        """What the kernel reads of foreign modules and classes, by nested names."""
        found = {}
        for root, path in sorted(names.paths):
            value, _ = scope.find(root)
            for depth, attribute in enumerate(path):
                if not isinstance(value, (types.ModuleType, type)) or self._convert(value, False):
                    break
                members, value = vars(value), getattr(value, attribute, _MISSING)
                converted = None if value is _MISSING else self._convert(value, True)
                if converted is None and value is not None:
                    continue
                level = found
                for name in (root, *path[:depth]):
                    level = level.setdefault(name, {})
                level[attribute] = converted
                if isinstance(value, (*_PLAIN, constexpr)) and attribute in members:
                    self.uses.append(GlobalUse(function.fn.__name__, attribute, members, value))
                break
        return found

    def _convert(self, value, allow_plain):
        """The compiler's form of `value`; None for None and for what means nothing in a kernel."""
        from .. import _pantile
        from .jit import JITFunction, KernelInterface

        if isinstance(value, constexpr):
            return self._convert(value.value, True)
        if isinstance(value, dtype):
            return _pantile.DTypeName(value.name)
        if isinstance(value, JITFunction):
            return self._reference(value)
        if isinstance(value, KernelInterface):
            return self._convert(value.fn, allow_plain)
        if isinstance(value, Builtin):
            return _pantile.BuiltinRef(value.reference)
        if any(value is known for known in (constexpr, dtype, pointer_type, const)):
            return _pantile.BuiltinRef(value.__name__)
        if isinstance(value, types.ModuleType):
            reference = _module_reference(value)
            return _pantile.BuiltinRef(reference) if reference else None
        if isinstance(value, types.FunctionType):
            reference = _HOST_FUNCTIONS.get(value)
            return _pantile.BuiltinRef(reference) if reference else None
        if isinstance(value, (tuple, list)):
            return self._convert_tuple(value, allow_plain)
        if isinstance(value, _PLAIN):
            return value if allow_plain else None
        if allow_plain and hasattr(value, "item") and not hasattr(value, "__len__"):
            return value.item()
        return None

    def _convert_tuple(self, value, allow_plain):
        elements = [self._convert(element, allow_plain) for element in value]
        if any(new is None and old is not None for new, old in zip(elements, value)):
            return None
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)


class _Scope:
    """Where a function looks its free names up: its closure, its module, the builtins."""

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
        if name in self.captured:
            return self.captured[name], self.captured
        if name in self.local:
            return _MISSING, None
        if name in self.globals:
            return self.globals[name], self.globals
        return _MISSING, None

    def is_annotated_constexpr(self, name):
        annotation = self.globals.get("__annotations__", {}).get(name)
        return annotation is constexpr or (
            isinstance(annotation, str) and annotation.split(".")[-1] == "constexpr"
        )


def _module_reference(module):
    if module.__name__ == "math":
        return "math."
    if module.__name__ == language.__name__.rpartition(".")[0]:
        return "triton."
    return module_names().get(module)


def _opaque(name, value):
    from .. import _pantile

    return _pantile.OpaqueRef(_description(value))


def _description(value):
    if isinstance(value, types.ModuleType):
        return f"an imported module `{value.__name__}`"
    if isinstance(value, types.FunctionType):
        return "a Python function without the jit decorator"
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if isinstance(value, (*_PLAIN, tuple, list)):
        return f"the plain value {value!r}, not a `tl.constexpr`"
    return f"an object of type `{type(value).__name__}`"
