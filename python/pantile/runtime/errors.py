"""The exceptions, with Triton's names and constructor forms where Triton has one.

`message` is one line, `rendered` adds source line, underlined range and notes, and `range` is
(file, line, column, end_line, end_column), columns from 1, or None where no source is to blame.
All of them can be pickled, as autotuning in other processes needs.
"""

import re


class TritonError(Exception):
    """Base of all errors of the compiler and the runtime."""

    def __init__(self, message="", rendered=None, range=None):
        self.message = message
        self.rendered = rendered or message
        self.range = range
        super().__init__(message)

    @classmethod
    def of_library(cls, message, rendered, place):
        """Make one of what the library says; constructors differ."""
        return _restore(cls, {"message": message, "rendered": rendered, "range": place})

    def __str__(self):
        return self.rendered

    def __reduce__(self):
        return (_restore, (type(self), dict(self.__dict__)))


def _restore(cls, state):
    error = cls.__new__(cls, state["message"])
    error.__dict__.update(state)
    error.args = (state["message"],)
    return error


PantileError = TritonError


class CompilationError(TritonError):
    """The kernel's source is wrong: syntax, types, shapes.

    `CompilationError(src, node, error_message)` shows the lines of `src` up to `node`, an `ast.AST`.
    """

    source_line_count_max_in_message = 12

    def __init__(self, src=None, node=None, error_message=None):
        self.src, self.node, self.error_message = src, node, error_message
        message = error_message if error_message is not None else (src or "")
        super().__init__(message, self._shown(message))

    def _shown(self, message):
        if self.node is None or self.src is None or not hasattr(self.node, "lineno"):
            return message
        lines = self.src.split("\n")[: self.node.lineno]
        shown = "\n".join(lines[-self.source_line_count_max_in_message :])
        pointer = " " * self.node.col_offset + "^"
        return (
            f"at {self.node.lineno}:{self.node.col_offset}:\n{shown}\n{pointer}\n{message}".rstrip()
        )

    def __getattr__(self, name):
        # Of an error that the library made.
        if name == "error_message":
            return self.__dict__.get("message")
        if name in ("src", "node"):
            return None
        raise AttributeError(f"`{type(self).__name__}` has no attribute `{name}`")

    def set_source_code(self, source):
        self.src = source
        self.rendered = self._shown(self.message)


class LanguageError(TypeError, ValueError, AssertionError):
    """What an operation of the language says of arguments that it refuses.

    It is the `__cause__` of the CompilationError. Triton's operations raise one of the three base
    classes, or Exception.
    """


class UnsupportedLanguageConstruct(CompilationError):
    """The source uses something that kernels cannot."""


class CompileTimeAssertionFailure(CompilationError):
    """A `tl.static_assert` does not hold."""


class LaunchError(TritonError):
    """The arguments or the grid of a launch are wrong."""


class InterpreterError(TritonError):
    """A kernel went wrong while it ran on the CPU: an access out of bounds, a failed assertion."""

    def __init__(self, error_message=None):
        self.error_message = error_message
        super().__init__(error_message or "")


class OutOfResources(TritonError):
    """The kernel needs more shared memory, registers or threads than the device has."""

    required = limit = name = None

    def __init__(self, required, limit, name):
        self.required, self.limit, self.name = required, limit, name
        super().__init__(
            f"out of resource: {name}, Required: {required}, Hardware limit: {limit}. "
            "Reducing block sizes or `num_stages` may help."
        )


class PTXASError(TritonError):
    """The assembler refused the PTX."""

    def __init__(self, error_message=None):
        self.error_message = error_message
        super().__init__(f"PTXAS error: {error_message or ''}")


class DriverError(TritonError):
    """A call of the CUDA driver failed."""


class AutotunerError(TritonError):
    """No configuration of a tuned kernel runs."""

    def __init__(self, error_message=None):
        self.error_message = error_message
        super().__init__(f"{error_message}")


class InternalError(TritonError):
    """A mistake of the compiler itself; the message names the file that reproduces it."""


AssemblerError = PTXASError

_CLASSES = {
    "syntax": CompilationError,
    "type": CompilationError,
    "unsupported": UnsupportedLanguageConstruct,
    "assertion": CompileTimeAssertionFailure,
    "launch": LaunchError,
    "resources": OutOfResources,
    "assembler": PTXASError,
    "driver": DriverError,
    "internal": InternalError,
}


def _inner_error(error, calls, in_builtin):
    """The `__cause__` that Triton's error has, for each call around it and for a refused argument."""
    cause = LanguageError(error.message) if in_builtin else None
    for _ in range(calls):
        inner = type(error).of_library(error.message, error.rendered, error.range)
        inner.__cause__, cause = cause, inner
    return cause


def from_library(
    kind,
    phase,
    message,
    rendered,
    file,
    line,
    column,
    end_line,
    end_column,
    calls=0,
    in_builtin=False,
):
    """Make the exception for an error of the library; the extension module calls this.

    Parameters
    ----------
    kind, phase : str
        The kind of error, a key of `_CLASSES`, and the step in which it came up, "launch" or other.
    message, rendered : str
        One line, and the text with source and notes.
    file, line, column, end_line, end_column : str and int
        The place; `line` is 0 where there is none.
    calls : int
        How many calls of jit functions are around the place.
    in_builtin : bool
        Whether a call refused its arguments.
    """
    place = (file, line, column, end_line, end_column) if line else None
    failed_in_source = place is not None and kind not in ("driver", "resources", "internal")
    if phase == "launch" and (failed_in_source or kind == "assertion"):
        return InterpreterError.of_library(message, rendered, place)
    error = _CLASSES[kind].of_library(message, rendered, place)
    if isinstance(error, CompilationError):
        error.__cause__ = _inner_error(error, calls, in_builtin and kind in ("syntax", "type"))
    needs = re.match(r"out of resource: (.*), Required: (\d+), Hardware limit: (\d+)", message)
    if kind == "resources" and needs:
        error.name, error.required, error.limit = needs[1], int(needs[2]), int(needs[3])
        error.rendered = message
    return error
