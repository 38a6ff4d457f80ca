"""TRITON_INTERPRET=1: kernels run on the CPU wherever their arrays are.

Arrays of a GPU are copied to the host, memory by memory so that views of one storage stay views of
one, and what the kernel wrote is copied back.
"""

import functools
import warnings

from ..language.dtypes import FP8_NAMES
from ..tools.tensor_descriptor import TensorDescriptor
from .errors import InterpreterError
from .jit_function import JITFunction
from .kernel_interface import KernelInterface

__all__ = [
    "GridExecutor",
    "InterpretedFunction",
    "InterpreterBuilder",
    "InterpreterError",
    "InterpreterOptions",
    "KernelInterface",
    "TensorDescriptor",
    "TensorHandle",
    "interpreter_builder",
]


class _HostCopies:
    """The host's copies of the device memory that one launch sees."""

    def __init__(self):
        self._storages = {}

    def of(self, value):
        if isinstance(value, (tuple, list)):
            elements = [self.of(element) for element in value]
            return type(value)(*elements) if hasattr(value, "_fields") else type(value)(elements)
        device = getattr(getattr(value, "device", None), "type", "cpu")
        if device == "cpu" or not hasattr(value, "untyped_storage"):
            return value
        import torch

        storage = value.untyped_storage()
        _, host = self._storages.setdefault(storage.data_ptr(), (storage, storage.cpu()))
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(host, value.storage_offset(), value.size(), value.stride())

    def write_back(self):
        for storage, host in self._storages.values():
            storage.copy_(host)


class InterpretedFunction(JITFunction):
    """A jit function whose launches run on the CPU."""

    @functools.cached_property
    def dispatcher(self):
        dispatcher = super().dispatcher
        dispatcher.always_cpu = True
        return dispatcher

    def __getitem__(self, grid):
        # Not a launcher of the extension module: that would not copy.
        return functools.partial(self.run, grid=grid, warmup=False)

    def run(self, *args, grid, warmup, **kwargs):
        copies = _HostCopies()
        args = [copies.of(argument) for argument in args]
        kwargs = {name: copies.of(argument) for name, argument in kwargs.items()}
        kernel = self._launch(grid, args, kwargs, warmup)
        if not warmup:
            copies.write_back()
        return kernel


class TensorHandle:
    """An array and its type of the language."""

    def __init__(self, data, dtype, attr=None):
        self.data, self.dtype, self.attr = data, dtype, attr or {}

    def __bool__(self):
        return bool(self.data.all())

    def get_element_ty(self):
        """Return the type of an element, through all pointers."""
        kind = self.dtype
        while hasattr(kind, "element_ty"):
            kind = kind.element_ty
        return kind

    def clone(self):
        """Return a handle of a copy of the array."""
        return TensorHandle(self.data.copy(), self.dtype, dict(self.attr))

    def set_attr(self, key, value):
        """Note a fact, such as a divisor, of the array."""
        self.attr[key] = value


class InterpreterOptions:
    """Options of kernels on the CPU, as attributes; those of a GPU's compiler have no effect there."""

    extern_libs = arch = None
    debug, sanitize_overflow = False, True
    supported_fp8_dtypes = FP8_NAMES
    deprecated_fp8_dot_operand_dtypes = ()
    default_dot_input_precision = "tf32"
    allowed_dot_input_precisions = ("tf32", "tf32x3", "ieee")
    max_num_imprecise_acc_default = 0
    backend_name = "interpreter"

    def __init__(self, **options):
        vars(self).update(options)


class InterpreterBuilder:
    """What Triton's interpreter computes with, step by step. Here kernels run as compiled code.

    The place in the grid can be set and read. A subclass that overrides an operation
    (`create_load`, ...) can be made, and a warning says that it is never used.
    """

    def __init__(self):
        self.arch, self.options, self.codegen_fns = None, InterpreterOptions(), {}
        self.grid_idx, self.grid_dim = (0, 0, 0), (1, 1, 1)

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        overridden = sorted(name for name in vars(cls) if name.startswith("create_"))
        if overridden:
            warnings.warn(
                f"`{cls.__name__}` overrides {', '.join(overridden)}: kernels on the CPU run as compiled "
                "code and use no builder",
                RuntimeWarning,
                stacklevel=2,
            )

    def set_grid_idx(self, x, y, z):
        """Set the place of a program; ValueError outside of the grid."""
        if not all(0 <= at < extent for at, extent in zip((x, y, z), self.grid_dim)):
            raise ValueError(f"the program {(x, y, z)} is outside of the grid {self.grid_dim}")
        self.grid_idx = (x, y, z)

    def set_grid_dim(self, nx, ny, nz):
        """Set the extents of the grid."""
        self.grid_dim = (nx, ny, nz)


interpreter_builder = InterpreterBuilder()


class GridExecutor:
    """Runs all programs of a grid on the CPU: `GridExecutor(fn, fn.arg_names, grid)(*args)`.

    fn: a function of the kernel language, decorated or not; grid: extents, or a function of the
    arguments by name; pre_run_hooks: called with the arguments first.
    """

    def __init__(self, fn, arg_names, grid, pre_run_hooks=()):
        self.fn, self.arg_names, self.grid = fn, arg_names, grid
        self.pre_run_hooks = list(pre_run_hooks)

    def __call__(self, *args_dev, **kwargs):
        for hook in self.pre_run_hooks:
            hook(*args_dev, **kwargs)
        is_interpreted = isinstance(self.fn, InterpretedFunction)
        kernel = self.fn if is_interpreted else InterpretedFunction(getattr(self.fn, "fn", self.fn))
        kernel.run(*args_dev, grid=self.grid, warmup=False, **kwargs)
