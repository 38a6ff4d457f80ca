"""The exceptions, with Triton's names where Triton has one.

`message` is one line, `rendered` adds source line, underlined range and notes, and `range` is
(file, line, column, end_line, end_column), columns from 1, or None where no source is to blame.
"""


class TritonError(Exception):
    """Base of all errors of the compiler and the runtime."""

    def __init__(self, message="", rendered=None, range=None):
        self.message = message
        self.rendered = rendered or message
        self.range = range
        super().__init__(message)

    def __str__(self):
        return self.rendered

    def __reduce__(self):
        return (type(self), (self.message, self.rendered, self.range))


PantileError = TritonError


class CompilationError(TritonError):
    """The kernel's source is wrong: syntax, types, shapes."""

    @property
    def error_message(self):
        return self.message


class UnsupportedLanguageConstruct(CompilationError):
    """The source uses something that kernels cannot."""


class CompileTimeAssertionFailure(CompilationError):
    """A `tl.static_assert` does not hold."""


class LaunchError(TritonError):
    """The arguments or the grid of a launch are wrong."""


class InterpreterError(TritonError):
    """A kernel went wrong while it ran on the CPU: an access out of bounds, a failed assertion."""


class OutOfResources(TritonError):
    """The kernel needs more shared memory, registers or threads than the device has."""


class PTXASError(TritonError):
    """The assembler refused the PTX."""


class DriverError(TritonError):
    """A call of the CUDA driver failed."""


class AutotunerError(TritonError):
    """No configuration of a tuned kernel runs."""


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


def from_library(kind, phase, message, rendered, file, line, column, end_line, end_column):
    """Make the exception for an error of the library; the extension module calls this."""
    place = (file, line, column, end_line, end_column) if line else None
    failed_in_source = place is not None and kind not in ("driver", "resources", "internal")
    if phase == "launch" and (failed_in_source or kind == "assertion"):
        return InterpreterError(message, rendered, place)
    return _CLASSES[kind](message, rendered, place)
