"""Compiling the tile IR of a file, which `compile` takes as a path.

Needs: a file "*.ttir" or "*.mlir" of tile IR before any pass for a GPU: `kernel.asm["ttir"]`, or what
       `pantilec --emit=tile` writes.
Gives: its kernel; errors of Triton's types for what cannot be compiled.
How:   arguments are bound to a function without a body, whose parameters have the names `arg0`,
       `arg1`, ...
"""

import linecache
import os
from pathlib import Path

from ..runtime.errors import CompilationError
from .text_source import IRSource

__all__ = ["compile_file"]

_COMPILED = ("ttir", "mlir")
_STAGES = (*_COMPILED, "ttgir", "llir", "ptx", "cubin")
_ELEMENTS = {
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
    "f8E5M2": "fp8e5",
    "f8E4M3FN": "fp8e4nv",
}


def compile_file(path, target, options):
    """Return the CompiledKernel of a file; see `compile`.

    Parameters
    ----------
    path : str
        The file.
    target : GPUTarget
        What to compile for.
    options : dict
        The keywords of a launch.

    Raises
    ------
    AssertionError
        If `path` is no str.
    FileNotFoundError
        If there is no such file.
    ValueError
        If its suffix names no stage, or it holds no kernel.
    RuntimeError
        If it is of a stage after tile IR, or its text is no tile IR, such as Triton's own.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise AssertionError("source must be either AST or a filepath")
    source = _read(os.fspath(path))
    try:
        return _compile(source, target, options)
    except CompilationError as error:
        raise RuntimeError(f"Parse MLIR file failed. {error.message}") from error


def _read(path):
    suffix = Path(path).suffix[1:]
    if suffix not in _STAGES:
        raise ValueError(f"{suffix!r} is not in list: {path!r} is no file of a stage")
    if suffix not in _COMPILED:
        Path(path).stat()
        raise RuntimeError(
            f"Parse MLIR file failed. `{path}` is of the stage `{suffix}`, and compilation starts "
            "from tile IR: from a file `*.ttir`"
        )
    try:
        return IRSource(path)
    except ValueError as error:
        raise RuntimeError(
            f"Parse MLIR file failed. `{path}` has no function of tile IR; Triton's own dialects "
            "are not read"
        ) from error


def _compile(source, target, options):
    from .. import _pantile
    from .kernel import prepare

    source.fn = _stub(source)
    text = {
        "name": source.name,
        "text": source.src,
        "file": str(source.path),
        "first_line": 1,
        "indent": 0,
        "noinline": False,
        "globals": {},
    }
    specialization = _pantile.Specialization()
    for number, kind in source.signature.items():
        divisor = source.divisors.get(number)
        specialization.append(_of_library(kind) + (f":{divisor}" if divisor else ""))
    keywords = {**options, **source.parse_options()}
    program = _pantile.Program([text])
    return prepare(program, specialization, target.name, keywords, source, strict=False)()


def _of_library(kind):
    """The library's name of a type: "*fp32" of "*f32"."""
    star = kind[: kind.startswith("*")]
    element = kind.removeprefix("*")
    return star + _ELEMENTS.get(element, element)


def _stub(source):
    """A jit function of the kernel's name and as many parameters."""
    from ..runtime.jit_function import JITFunction

    names = ", ".join(f"arg{number}" for number in source.signature)
    text = f"def {source.name}({names}):\n    pass\n"
    file = f"<arguments of {source.path}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"__name__": __name__}
    exec(compile(text, file, "exec"), space)
    return JITFunction(space[source.name])
