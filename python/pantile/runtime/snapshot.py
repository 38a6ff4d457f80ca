"""What the global names of a kernel mean, taken once as plain data.

A Snapshot walks from one jit function to all that it can reach and gives the compiler their sources
and, for each, a map from global or captured names to values. After that the compiler needs no
Python. A foreign module or class (`shapes.BLOCK`) becomes a named tuple of those members that the
function reads. What was found is remembered, so that a launch can detect a change (`uses`).
"""

import enum
import functools
import types
import weakref

from .. import arith, knobs
from ..language import host_functions
from ..language.constexpr import const, constexpr
from ..language.dtypes import dtype, dtype_of_text, pointer_type
from ..language.names import Builtin, LanguageClass, language_object, module_name
from .callables import ConstexprFunction, JITCallable
from .classes import describe_class, is_kernel_class, make_object
from .kernel_interface import KernelInterface
from .scope import MISSING, PLAIN, Names, Scope
from .uses import GlobalUse, HostUse, look_up

_HOST_FUNCTIONS = {arith.cdiv: "triton.cdiv", arith.next_power_of_2: "triton.next_power_of_2"}


class _Namespace(tuple):
    """Values with names: what is left of a module."""

    @staticmethod
    def of(members):
        values = [_Namespace.of(v) if isinstance(v, dict) else v for v in members.values()]
        result = _Namespace(values)
        result._fields = tuple(members)
        return result


class _HostCall:
    """Calls a constexpr function for the compiler.

    Python's collector does not see what the compiler holds, so that this holds nothing: the kernel
    keeps the snapshot, and that the function.
    """

    __slots__ = ("_snapshot", "_function")

    def __init__(self, snapshot, function):
        snapshot.functions[0].held_snapshots.append(snapshot)
        self._snapshot, self._function = weakref.ref(snapshot), weakref.ref(function)

    def __call__(self, args, kwargs):
        return self._snapshot()._call_host(self._function(), args, kwargs)


class Snapshot:
    """The functions that a kernel can reach, the kernel first."""

    def __init__(self, kernel):
        self.functions, self.uses = [], []
        self._calls = {}  # of constexpr functions: arguments as Python has them, and the result
        self._index, self._described = {}, []
        self.classes, self._class_index, self._described_classes = [], {}, []
        self._reference(kernel)
        self._describe_all()

    def program(self, name=None):
        """Return the compiler's Program, its kernel under `name` if one is given."""
        from .. import _pantile

        self._describe_all()
        if name is not None:
            self._described[0]["name"] = name
        return _pantile.Program(self._described, 0, self._described_classes)

    def calling_program(self, name, text, names):
        """Return the Program of another kernel, which calls functions of this one.

        `text` is its source, `names` are what its global names mean, FunctionRef(0) this kernel.
        """
        from .. import _pantile

        self._describe_all()
        place = {key: self._described[0][key] for key in ("file", "first_line")}
        caller = {"name": name, "text": text, "indent": 0, "noinline": False, "globals": names}
        functions = [*self._described, {**place, **caller}]
        return _pantile.Program(functions, len(functions) - 1, self._described_classes)

    def constant(self, value):
        """Return `value` as the compiler takes it; TypeError if it is no compile-time value."""
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
        while True:
            if len(self._described) < len(self.functions):
                self._described.append(self._describe(self.functions[len(self._described)]))
            elif len(self._described_classes) < len(self.classes):
                cls = self.classes[len(self._described_classes)]
                self._described_classes.append(self._describe_class(cls))
            else:
                return

    def _class(self, cls):
        from .. import _pantile

        position = self._class_index.setdefault(cls, len(self.classes))
        if position == len(self.classes):
            self.classes.append(cls)
        return _pantile.ClassRef(position)

    def _describe(self, function):
        if isinstance(function, ConstexprFunction):
            return self._describe_host(function)
        return {
            "name": function.__name__,
            "text": function.src,
            "file": function.file,
            "first_line": function.first_line,
            "indent": function.indent,
            "noinline": bool(function.noinline),
            "globals": self._globals(function),
        }

    def _describe_host(self, function):
        """A function that stays Python: what the compiler calls, and what its result hangs on."""
        scope = Scope(function.fn)
        for name in sorted(Names(function.src).read):
            value, namespace = scope.find(name)
            if isinstance(value, (*PLAIN, constexpr, tuple)):
                self.uses.append(GlobalUse(function.fn.__name__, name, namespace, value))
        self.uses.append(HostUse(function, self))
        returnable = {
            name: self._reference(used)
            for name, used in function.used_values().items()
            if isinstance(used, JITCallable) and not isinstance(used, ConstexprFunction)
        }
        return {
            "name": function.fn.__name__,
            "text": function.cache_key,
            "file": function.file,
            "first_line": function.first_line,
            "indent": 0,
            "noinline": False,
            "globals": returnable,
            "host": _HostCall(self, function),
        }

    def _call_host(self, function, args, kwargs):
        """Call a constexpr function, once for the same arguments.

        So all variants and stages of a kernel are made of the same values, whenever they are.
        """
        key = (
            id(function),
            _identity(tuple(args)),
            tuple(kwargs),
            _identity(tuple(kwargs.values())),
        )
        if key in self._calls:
            return self._calls[key][3]
        args = [self._restore(argument) for argument in args]
        kwargs = {name: self._restore(argument) for name, argument in kwargs.items()}
        result = self._result_of(function, args, kwargs)
        return self._calls.setdefault(key, (function, args, kwargs, result))[3]

    def _result_of(self, function, args, kwargs):
        count = len(self.functions)
        result = self.constant(function(*args, **kwargs))
        if len(self.functions) != count:
            raise TypeError("the result has a jit function that the kernel did not refer to before")
        return result

    def repeat_calls(self, function):
        """Make the calls of a constexpr function again; RuntimeError if a result is another one."""
        for called, args, kwargs, then in list(self._calls.values()):
            if called is not function:
                continue
            now = self._result_of(function, args, kwargs)
            if _identity(now) != _identity(then):
                raise RuntimeError(
                    f"constexpr function {function.fn.__name__} returns {now!r}, but when kernel "
                    f"{self.functions[0].fn.__name__} was first compiled it returned {then!r}"
                )

    def _restore(self, value):
        """The Python object that a value of the compiler stands for."""
        from .. import _pantile

        if isinstance(value, _pantile.DTypeName):
            return dtype_of_text(value.name)
        if isinstance(value, _pantile.FunctionRef):
            return self.functions[value.index]
        if isinstance(value, _pantile.BuiltinRef):
            return language_object(value.name)
        if isinstance(value, _pantile.ClassRef):
            return self.classes[value.index]
        if isinstance(value, tuple):
            elements = [self._restore(element) for element in value]
            if hasattr(value, "_pantile_class"):
                cls = self.classes[value._pantile_class]
                return make_object(cls, value._pantile_fields, elements)
            return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
        return value

    def _globals(self, function):
        names = Names(function.src)
        scope = Scope(function.fn)
        result = {}
        for name in sorted(names.read):
            value, namespace = scope.find(name)
            if value is MISSING:
                continue
            allowed = name in names.defaults or scope.is_annotated_constexpr(name)
            converted = self._convert(
                value, allowed or knobs.compilation.allow_non_constexpr_globals
            )
            if converted is None and value is not None:
                converted = _opaque(name, value)
            else:
                if value is None and not allowed:
                    converted = _opaque(name, value)
                self._use(function.fn.__name__, name, namespace, value)
            result[name] = converted
        for root, value in self._namespaces(function, names, scope).items():
            result[root] = _Namespace.of(value)
        return result

    def _use(self, function, name, namespace, value):
        """Note that `function` read `value`, unless that is the language's own."""
        if not isinstance(value, (types.ModuleType, types.FunctionType, Builtin, LanguageClass)):
            self.uses.append(GlobalUse(function, name, namespace, value))

    def _namespaces(self, function, names, scope):
        """What the kernel reads of foreign modules and classes, by nested names."""
        found = {}
        for root, path in sorted(names.paths):
            value, namespace = scope.find(root)
            places = [(root, namespace, value)]
            for depth, attribute in enumerate(path):
                if not isinstance(value, (types.ModuleType, type)) or self._convert(value, False):
                    break
                space = value if isinstance(value, type) else vars(value)
                value = getattr(value, attribute, MISSING)
                places.append((attribute, space, value))
                converted = None if value is MISSING else self._convert(value, True)
                if converted is None and value is not None:
                    continue
                level = found
                for name in (root, *path[:depth]):
                    level = level.setdefault(name, {})
                level[attribute] = converted
                self._use_path(function, places)
                break
        return found

    def _use_path(self, function, places):
        """Note all places on the way to an attribute; not what its owner makes at each access."""
        for name, space, value in places:
            if look_up(space, name) is value:
                self.uses.append(GlobalUse(function.fn.__name__, name, space, value))

    def _describe_class(self, cls):
        described = describe_class(cls, functools.partial(self._convert, allow_plain=True))
        for name in described["members"]:
            value = look_up(cls, name)
            if isinstance(value, (*PLAIN, constexpr, tuple, list)):
                self._use(cls.__name__, name, cls, value)
        return described

    def _convert(self, value, allow_plain):
        """The compiler's form of `value`; None for None and for what means nothing in a kernel."""
        from .. import _pantile

        if isinstance(value, constexpr):
            if isinstance(value.value, types.FunctionType):
                return self._reference(_constexpr_function(value.value))
            return self._convert(value.value, True)
        if isinstance(value, dtype):
            return _pantile.DTypeName(value.short_name)
        if isinstance(value, JITCallable):
            return self._reference(value)
        if isinstance(value, KernelInterface):
            return self._convert(value.fn, allow_plain)
        if is_kernel_class(value):
            return self._class(value)
        if isinstance(value, (Builtin, LanguageClass)):
            return _pantile.BuiltinRef(value.reference)
        if any(value is known for known in (constexpr, dtype, pointer_type, const)):
            return _pantile.BuiltinRef(value.__name__)
        if isinstance(value, types.ModuleType):
            reference = _module_reference(value)
            return _pantile.BuiltinRef(reference) if reference else None
        if isinstance(value, types.FunctionType):
            reference = _HOST_FUNCTIONS.get(value) or _language_function(value)
            return _pantile.BuiltinRef(reference) if reference else None
        if isinstance(value, (tuple, list)):
            return self._convert_tuple(value, allow_plain)
        if isinstance(value, PLAIN):
            return value if allow_plain else None
        if isinstance(value, enum.Enum):
            return self._convert_member(value) if allow_plain else None
        is_scalar = hasattr(value, "item") and not hasattr(value, "__len__")
        if allow_plain and is_scalar and not isinstance(value, type):
            return value.item()
        return None

    def _convert_tuple(self, value, allow_plain):
        elements = [self._convert(element, allow_plain) for element in value]
        if any(new is None and old is not None for new, old in zip(elements, value)):
            return None
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)

    def _convert_member(self, member):
        """A member of an enumeration of objects: its name, its value and what no other one has."""
        kind = type(member)
        held = self._convert(member.value, True)
        result = _Namespace((member.name, held, f"{kind.__module__}.{kind.__qualname__}"))
        result._fields = ("name", "value", "enumeration")
        return result


def _identity(value):
    """What is equal for two values in the compiler's form only if they compile to the same code."""
    if isinstance(value, tuple):
        kind = (getattr(value, "_fields", None), getattr(value, "_pantile_class", None))
        return (*kind, *map(_identity, value))
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, complex):
        return ("complex", value.real.hex(), value.imag.hex())
    if isinstance(value, PLAIN):
        return (type(value).__name__, value)
    parts = [getattr(value, part, None) for part in ("name", "index", "description")]
    return (type(value).__name__, *parts)


def _language_function(function):
    """The compiler's name of a function of `pantile.language` that is plain Python on the host."""
    named = function.__module__ == host_functions.__name__
    return f"tl.{function.__name__}" if named else None


def _module_reference(module):
    if module.__name__ == "math":
        return "math."
    if module.__name__ == arith.__name__.rpartition(".")[0]:
        return "triton."
    return module_name(module)


def _opaque(name, value):
    from .. import _pantile

    return _pantile.OpaqueRef(_description(value))


def _description(value):
    if isinstance(value, types.ModuleType):
        return f"the module `{value.__name__}`"
    if isinstance(value, types.FunctionType):
        return "a Python function without the jit decorator"
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if isinstance(value, (*PLAIN, tuple, list)):
        return f"the plain value {value!r}, not a `tl.constexpr`"
    return f"an object of type `{type(value).__name__}`"


@functools.cache
def _constexpr_function(function):
    """The function of compile time that `@tl.constexpr` over a plain function makes."""
    return ConstexprFunction(function)
