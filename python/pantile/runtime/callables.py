"""Functions whose source matters: the base of jit functions and constexpr functions.

`cache_key` is a hash of the source, its place and, through the names that it reads, of every other
such function and constant that it can reach: it changes exactly when the function may mean
something else.
"""

import functools
import inspect
import itertools
import linecache
import re
import sys

from ..language.constexpr import constexpr, constexpr_type
from ..language.dtypes import dtype
from .scope import MISSING, PLAIN, Names, Scope, parse

_numbers = itertools.count()
_DEF = re.compile(r"\s*def\s")


def next_key():
    """Return a number that no other function of the process has, and the key made of it."""
    number = next(_numbers)
    return number, f"jit#{number}"


def symbol_of(name):
    """Return `name` as a symbol of the machine code, "_" in place of what none may contain."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_$") else "_" for c in name)
    return f"_{name}" if name[:1].isdigit() or name in ("_", "$") else name


def source_of(fn):
    """The text from `def` on, its line, and the columns that were cut off each line."""
    try:
        lines, first = _lines_of(fn)
    except (OSError, TypeError) as error:
        raise ValueError("@jit functions should be defined in a Python file") from error
    start = next((i for i, line in enumerate(lines) if _DEF.match(line)), None)
    if start is None:
        raise ValueError("@jit takes a function that `def` defines")
    indent = len(lines[start]) - len(lines[start].lstrip())
    text = "".join(_cut(line, indent) for line in lines[start:])
    return text, first + start, indent


def _lines_of(fn):
    """The lines of `fn` from its decorators on, and the number of the first.

    Before Python 3.12 `inspect.getsourcelines` compiles regular expressions when first used, its
    own and those of the tokenizer, which is 6 ms of a process.
    """
    function = inspect.unwrap(fn)
    code = getattr(function, "__code__", None)
    if sys.version_info >= (3, 12) or code is None or code.co_name == "<lambda>":
        return inspect.getsourcelines(fn)
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    start = next((i for i, line in enumerate(lines) if _DEF.match(line)), None)
    end = None if start is None else _end_of_function(lines, start)
    return inspect.getsourcelines(fn) if end is None else (lines[:end], code.co_firstlineno)


def _end_of_function(lines, start):
    """The index after the last line of what `def` begins in line `start`; None if none is found.

    It ends before the first line that is no deeper than `def`, if what came before can be parsed:
    otherwise that line belongs to a bracket or a string.
    """
    indent = _depth(lines[start])
    for end in range(start + 1, len(lines) + 1):
        if end < len(lines) and (_is_aside(lines[end]) or _depth(lines[end]) > indent):
            continue
        try:
            parse("".join(_cut(line, indent) for line in lines[start:end]))
        except SyntaxError:
            continue
        while _is_aside(lines[end - 1]) and not _depth(lines[end - 1]) > indent:
            end -= 1
        return end
    return None


def _depth(line):
    return len(line) - len(line.lstrip()) if line.strip() else 0


def _is_aside(line):
    """Whether a line says nothing: blank, or only a comment, which may start anywhere."""
    return not line.strip() or line.lstrip().startswith("#")


def _cut(line, indent):
    # A line of a string or a comment may start further left than the function.
    return line[indent:] if not line[:indent].strip() else line.lstrip()


class JITCallable:
    """A Python function together with its text."""

    def __init__(self, fn):
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.__globals__ = fn.__globals__
        self.module = fn.__module__
        self._src, self.first_line, self.indent = source_of(fn)
        self.file = fn.__code__.co_filename
        self._number, self._pantile_key = next_key()
        self._hash = self._raw_src = None

    @property
    def src(self):
        """The text from `def` on; what is assigned is compiled from the next launch on."""
        return self._src

    @src.setter
    def src(self, text):
        self._unsafe_update_src(text)
        self._forget_kernels()

    def _forget_kernels(self):
        """Drop what was compiled of the text before."""

    @property
    def raw_src(self):
        """The lines of the source file, decorators included; what is assigned replaces the text."""
        if self._raw_src is None:
            self._raw_src = inspect.getsourcelines(self.fn)[0]
        return self._raw_src

    @raw_src.setter
    def raw_src(self, lines):
        start = next((i for i, line in enumerate(lines) if _DEF.match(line)), None)
        if start is None:
            raise ValueError("the lines of a jit function hold a `def`")
        indent = _depth(lines[start])
        self.src = "".join(_cut(line, indent) for line in lines[start:])
        self._raw_src = list(lines)

    @property
    def type(self):
        """The type of the function as a compile-time value."""
        return constexpr_type(self)

    @property
    def starting_line_number(self):
        """The line of the file that `raw_src` begins in: of the first decorator, or of `def`."""
        return self.fn.__code__.co_firstlineno

    def _unsafe_update_src(self, new_src):
        """Replace the text; kernels that were compiled from the old one stay in `device_caches`."""
        self._src = new_src
        self._hash = None
        self._number, self._pantile_key = next_key()

    def parse(self):
        """Return the `ast.Module` of the text."""
        return parse(self._src)

    @property
    def cache_key(self):
        if self._hash is None:
            self._hash = _content_hash(self)
        return self._hash

    def used_values(self):
        """What the names of the text stand for, by name, in order; locals are left out."""
        # Also of a function that a library took apart; see `JITFunction`.
        scope = Scope(self.fn or vars(self).get("__wrapped__"))
        found = {}
        names = Names(self._src)
        for name in sorted(names.read):
            value, _ = scope.find(name)
            if value is not MISSING:
                found[name] = value
        for root, path in sorted(names.paths):
            value, _ = scope.find(root)
            if not inspect.ismodule(value) or value.__name__.partition(".")[0] == "pantile":
                continue
            for attribute in path:
                value = getattr(value, attribute, MISSING)
            if value is not MISSING:
                found[".".join((root, *path))] = value
        return found

    def get_capture_scope(self):
        """Return the names that the function sees: its module's, then those it captured."""
        scope = Scope(self.fn)
        return {**scope.globals, **scope.captured}


def get_full_name(fn):
    """Return the name of a function together with that of its module."""
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn):
    """Return the file that a function of the language was read from, and the line of its `def`."""
    while not isinstance(fn, JITCallable):
        fn = fn.fn
    return fn.file, fn.first_line


def _constant_text(value):
    """What a constant adds to the hash of a function that reads it; None for anything else."""
    if isinstance(value, constexpr):
        return f"constexpr {_constant_text(value.value) or type(value.value).__name__}"
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"({','.join(_constant_text(element) or '?' for element in value)})"
    if isinstance(value, dtype):
        return str(value)
    return None


def _content_hash(root):
    import hashlib

    digest = hashlib.sha256()
    order, position = [root], 0
    while position < len(order):
        function = order[position]
        position += 1
        values = function.used_values()
        digest.update(f"{function.__name__}\n{function.first_line}\n{function.src}\n".encode())
        for name, value in values.items():
            value = getattr(value, "base_fn", value)
            text = _constant_text(value)
            if isinstance(value, JITCallable):
                if value not in order:
                    order.append(value)
                text = f"function {order.index(value)}"
            elif inspect.isfunction(value) and isinstance(function, ConstexprFunction):
                text = _plain_function_text(value)
            if text is not None:
                digest.update(f"{name} = {text}\n".encode())
    return digest.hexdigest()


def _plain_function_text(fn):
    """The text of a Python function that a constexpr function calls."""
    try:
        return inspect.getsource(fn)
    except (OSError, TypeError):
        return fn.__qualname__


class MemberFunction(JITCallable):
    """A plain method of a class of the kernel language, which only kernels call."""

    noinline = False


class ConstexprFunction(JITCallable):
    """A Python function that runs while a kernel compiles, on compile-time values."""

    def __init__(self, fn):
        super().__init__(fn)
        self.noinline = False

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, _semantic=None, **kwargs):
        plain = [_plain(argument) for argument in args]
        return self.fn(*plain, **{name: _plain(argument) for name, argument in kwargs.items()})

    def __repr__(self):
        return f"ConstexprFunction({self.module}:{self.fn.__qualname__})"


def _plain(value):
    return value.value if isinstance(value, constexpr) else value


def constexpr_function(fn):
    """Make a Python function callable from kernels, on compile-time values.

    The result may be None, a number, a string, a dtype, a function of the language or a jit
    function that the function refers to, or a tuple of such. On the host it is the function it was.

    Parameters
    ----------
    fn : function
        Called while a kernel compiles; what it raises ends the compilation as a CompilationError.
    """
    return ConstexprFunction(fn)
