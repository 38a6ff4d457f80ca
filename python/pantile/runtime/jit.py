"""The decorator `@jit`, and Triton's import path of what is around it."""

from .. import knobs
from .callables import (
    ConstexprFunction,
    JITCallable,
    constexpr_function,
    get_full_name,
    get_jit_fn_file_line,
)
from .jit_function import JITFunction, JitFunctionInfo
from .kernel_interface import KernelInterface
from .parameters import KernelParam
from .specialize import mangle_type, native_specialize_impl
from .tensors import MockTensor, TensorWrapper, reinterpret

__all__ = [
    "ConstexprFunction",
    "JITCallable",
    "JITFunction",
    "JitFunctionInfo",
    "KernelInterface",
    "KernelParam",
    "MockTensor",
    "TensorWrapper",
    "constexpr_function",
    "get_full_name",
    "get_jit_fn_file_line",
    "jit",
    "mangle_type",
    "native_specialize_impl",
    "reinterpret",
]


def jit(
    fn=None,
    *,
    version=None,
    repr=None,
    launch_metadata=None,
    do_not_specialize=None,
    do_not_specialize_on_alignment=None,
    debug=None,
    noinline=None,
):
    """Make a kernel, or a function that kernels call, of a Python function.

    `kernel[grid](*args, **keywords)` launches it and returns the CompiledKernel: `grid` is an int,
    one to three of them, or a function of all arguments by name. Mistakes in the source show at the
    first launch, as a CompilationError with the line.

    Parameters
    ----------
    fn : function, optional
        Given by `@jit` without parentheses; it must be defined in a file.
    version : any, optional
        Kept as an attribute.
    repr : callable, optional
        Gives the kernel's name from its specialisation (`.constants` and `.signature`, by
        parameter name).
    launch_metadata : callable, optional
        `launch_metadata(grid, metadata, args) -> dict` adds to the argument of launch hooks.
    do_not_specialize, do_not_specialize_on_alignment : list of int or str, optional
        Parameters, by name or position, whose values (or whose divisibility by 16) shall not make
        kernels of their own.
    debug : bool, optional
        Compile `tl.device_assert` in, where a launch does not say otherwise; None:
        PANTILE_DEVICE_ASSERTS.
    noinline : bool, optional
        A hint to keep calls of the function.

    Raises
    ------
    TypeError
        For what is no function.
    ValueError
        For a function that is not defined by `def` in a file.
    """

    def decorate(function):
        if isinstance(function, JITFunction):
            function = function.fn
        if not callable(function):
            raise TypeError(f"@jit takes a function, not a {type(function).__name__}")
        made = JITFunction
        if knobs.runtime.interpret:
            from .interpreter import InterpretedFunction as made
        return made(
            function,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn)
