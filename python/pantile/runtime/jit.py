"""Functions that are compiled when they are launched: `@jit` and `kernel[grid](...)`.

A launch binds its arguments, forms the specialisation key and finds the kernel in the extension module; Python code
runs for a grid that is callable, for hooks, and on a miss, which compiles.
"""

import functools
import inspect
import itertools
import re

from .. import knobs
from ..language.constexpr import constexpr
from ..language.dtypes import dtype, pointer_type

_numbers = itertools.count()


class KernelInterface:
    """Something that `[grid](...)` launches."""

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError

    def warmup(self, *args, grid, **kwargs):
        """Compile for these arguments and return the kernel; dtypes may stand for arrays."""
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid, warmup=False)


class KernelParam:
    """One parameter of a jit function."""

    def __init__(self, position, parameter, do_not_specialize, do_not_specialize_on_alignment):
        self.num = position
        self.name = parameter.name
        self.has_default = parameter.default is not inspect.Parameter.empty
        self.default = parameter.default if self.has_default else None
        annotation = parameter.annotation
        self.annotation = (
            "" if annotation is inspect.Parameter.empty else _annotation_text(annotation)
        )
        self.is_constexpr = self.annotation.rpartition(".")[2] == "constexpr"
        self.is_const = self.annotation.rpartition(".")[2] == "const" or self.annotation.startswith(
            "*k"
        )
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @property
    def annotation_type(self):
        """The type of a scalar that its annotation fixes: "i64"; else ""."""
        name = self.annotation.rpartition(".")[2]
        return dtype.by_long_name(name) if self.annotation else ""

    def for_dispatcher(self):
        from .. import _pantile

        return _pantile.Parameter(
            self.name,
            self.is_constexpr,
            not self.do_not_specialize,
            not (self.do_not_specialize or self.do_not_specialize_on_alignment),
            self.is_const,
            self.annotation_type,
            self.has_default,
            self.default,
        )


def _annotation_text(annotation):
    if isinstance(annotation, str):
        return annotation.strip("\"'")
    if isinstance(annotation, dtype):
        return annotation.name
    return getattr(annotation, "__name__", str(annotation))


def _source_of(fn):
    """The text from `def` on, its line, and the columns that were cut off each line."""
    try:
        lines, first = inspect.getsourcelines(fn)
    except (OSError, TypeError) as error:
        raise ValueError("@jit functions should be defined in a Python file") from error
    start = next(i for i, line in enumerate(lines) if re.match(r"\s*def\s", line))
    indent = len(lines[start]) - len(lines[start].lstrip())
    text = "".join(_cut(line, indent) for line in lines[start:])
    return text, first + start, indent


def _cut(line, indent):
    # A line of a string or a comment may start further left than the function.
    return line[indent:] if not line[:indent].strip() else line.lstrip()


class JITFunction(KernelInterface):
    """A function of the kernel language. As a kernel it is launched; from other kernels it is called."""

    def __init__(
        self,
        fn,
        version=None,
        do_not_specialize=None,
        do_not_specialize_on_alignment=None,
        debug=None,
        noinline=None,
        repr=None,
        launch_metadata=None,
    ):
        functools.update_wrapper(self, fn)
        self.fn, self.version, self.debug, self.noinline = fn, version, debug, noinline
        self.module = fn.__module__
        self.launch_metadata = launch_metadata
        self._repr = repr
        self.src, self.first_line, self.indent = _source_of(fn)
        self.file = fn.__code__.co_filename
        unspecialized, unaligned = do_not_specialize or (), do_not_specialize_on_alignment or ()
        self.signature = inspect.signature(fn)
        self.params = [
            KernelParam(
                i,
                p,
                i in unspecialized or p.name in unspecialized,
                i in unaligned or p.name in unaligned,
            )
            for i, p in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.pre_run_hooks = []
        self._pantile_key = f"jit#{next(_numbers)}"
        self._uses = []

    @functools.cached_property
    def dispatcher(self):
        from .. import _pantile

        return _pantile.Dispatcher(self.__name__, [p.for_dispatcher() for p in self.params])

    @property
    def cache_key(self):
        return self._pantile_key

    @property
    def used_global_vals(self):
        return {(use.name, id(use.namespace)): (use.value, use.namespace) for use in self._uses}

    def add_pre_run_hook(self, hook):
        """Have `hook` called with the arguments of every launch, before it."""
        self.pre_run_hooks.append(hook)

    def repr(self, specialization=None):
        return self._repr(specialization) if self._repr else self.fn.__qualname__

    def run(self, *args, grid, warmup, **kwargs):
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        call = self.dispatcher.prepare(*args, **kwargs)
        kernel = call.kernel
        for use in self._uses:
            use.check()
        if kernel is None:
            kernel = self._compile(call)
        if warmup:
            return kernel
        if grid is None:
            raise TypeError(f"kernel `{self.__name__}` has no grid")
        if callable(grid):
            grid = grid({**call.options, **call.named()})
        if knobs.runtime.launch_enter_hook or knobs.runtime.launch_exit_hook:
            self._launch_with_hooks(call, grid, kernel)
        else:
            call.launch(grid)
        return kernel

    def _launch_with_hooks(self, call, grid, kernel):
        metadata = kernel.metadata._asdict()
        if self.launch_metadata:
            metadata.update(self.launch_metadata(grid, kernel.metadata, call.named()))
        knobs.runtime.launch_enter_hook(metadata)
        call.launch(grid)
        knobs.runtime.launch_exit_hook(metadata)

    def _compile(self, call):
        from ..compiler.compiler import build
        from ..compiler.options import make_options
        from .snapshot import Snapshot

        options = make_options(call.target, call.options, self.debug)
        snapshot = Snapshot(self)
        specialization = call.specialization(snapshot.constant)
        kernel = build(snapshot.program(), specialization, options, self)
        known = {(use.name, id(use.namespace)) for use in self._uses}
        self._uses += [use for use in snapshot.uses if (use.name, id(use.namespace)) not in known]
        call.adopt(kernel, kernel._kernel)
        return kernel

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self):
        return f"JITFunction({self.module}:{self.fn.__qualname__})"


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

    Parameters
    ----------
    do_not_specialize, do_not_specialize_on_alignment : list of int or str
        Parameters whose values (or whose divisibility by 16) shall not make kernels of their own.
    debug : bool, optional
        Compile `tl.device_assert` in.
    noinline : bool, optional
        A hint to keep calls of the function.
    """

    def decorate(function):
        return JITFunction(
            function,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn.fn if isinstance(fn, JITFunction) else fn)


class MockTensor:
    """A dtype that stands for an array where nothing is launched: aligned, and nowhere."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, shape or [1]

    @staticmethod
    def wrap_dtype(argument):
        if isinstance(argument, constexpr):
            return argument
        if isinstance(argument, pointer_type):
            return MockTensor(argument.element_ty)
        is_dtype = isinstance(argument, dtype) or (
            type(argument).__name__,
            type(argument).__module__,
        ) == (
            "dtype",
            "torch",
        )
        return MockTensor(argument) if is_dtype else argument

    @staticmethod
    def data_ptr():
        return 0


class TensorWrapper:
    """The memory of `base` read as another dtype."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.device = getattr(base, "device", None)
        self.shape = base.shape

    def data_ptr(self):
        return self.base.data_ptr()

    def untyped_storage(self):
        return self.base.untyped_storage()

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """Return `tensor` with its memory read as `dtype`."""
    if isinstance(tensor, TensorWrapper):
        return reinterpret(tensor.base, dtype)
    if not hasattr(tensor, "data_ptr"):
        raise TypeError(f"cannot reinterpret a {type(tensor).__name__}")
    return tensor if tensor.dtype == dtype else TensorWrapper(tensor, dtype)
