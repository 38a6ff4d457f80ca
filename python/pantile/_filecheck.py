"""Tests of tile IR against patterns in comments: `@filecheck_test`, which needs LLVM's FileCheck."""

import functools
import glob
import inspect
import os
import shutil
import subprocess
import tempfile

from .backends.target import GPUTarget

__all__ = [
    "MatchError",
    "filecheck_test",
    "run_filecheck",
    "run_filecheck_test",
    "run_parser",
    "stub_target",
]

stub_target = GPUTarget("cuda", 100, 32)


class MatchError(ValueError):
    """A pattern that the module's text does not match."""

    def __init__(self, message, module_str):
        super().__init__(message)
        self.module_str = module_str

    def __str__(self):
        return f"{super().__str__()}\n{self.module_str}"


class ModuleText(str):
    """The text of a module."""

    def str_nodebug(self):
        """Return the text; it has no locations."""
        return str(self)


def filecheck_path():
    """Return the path of FileCheck; FileNotFoundError where LLVM's tools are not installed."""
    found = shutil.which("FileCheck") or next(
        iter(sorted(glob.glob("/usr/lib/llvm-*/bin/FileCheck"), reverse=True)), None
    )
    if found is None:
        raise FileNotFoundError("FileCheck, one of LLVM's tools, is not installed")
    return found


def run_filecheck(name, module_str, check_template):
    """Match a text against the patterns of another; MatchError where it does not."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, part) for part in ("module", "expected")]
        for path, text in zip(paths, (module_str, check_template)):
            with open(path, "w") as file:
                file.write(text)
        command = [filecheck_path(), paths[1], "--input-file", paths[0], "--dump-input-context=50"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise MatchError(f"`{name}`: {done.stderr}", module_str)


def run_parser(kernel_fn, args=(), kwargs=None, target=stub_target):
    """Return the tile IR of a kernel for these arguments, dtypes among them, as a ModuleText."""
    from .compiler.front_end import ast_to_ttir
    from .runtime.tensors import MockTensor

    known = {name: value for name, value in (kwargs or {}).items() if name != "sanitize_overflow"}
    call = kernel_fn.dispatcher.prepare(*map(MockTensor.wrap_dtype, args), **known)
    return ModuleText(ast_to_ttir(kernel_fn, kernel_fn._source_of_call(call)))


def run_filecheck_test(kernel_fn):
    """Match a kernel without arguments against the patterns in its own comments."""
    run_filecheck(kernel_fn.__name__, run_parser(kernel_fn), inspect.getsource(kernel_fn.fn))


def filecheck_test(fn):
    """Make a test of a kernel without arguments that holds patterns in comments."""

    @functools.wraps(fn)
    def test_fn():
        run_filecheck_test(fn)

    return test_fn
