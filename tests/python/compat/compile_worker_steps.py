"""What torch's compiler does with a kernel between its processes, step by step.

A worker compiles the kernels of a generated file, takes their parts apart and pickles them; the parent,
which never loads the file, restores them and launches them by the parts that it reads. Each step touches
the objects as torch 2.11 does (`CachingAutotuner`, `TritonCompileResult`). Classes here are pickled by
name: both processes import this file.
"""

import sys
import threading
import types
from collections import namedtuple


class FixedName:
    """Takes the place of a function's `repr`, and pickles."""

    def __init__(self, name):
        self.name = name

    def __call__(self, specialization=None):
        return self.name


def load_generated(path, name):
    """The module of a generated file, under a name that only this process has."""
    module = types.ModuleType(name)
    module.__file__ = str(path)
    with open(path) as file:
        exec(compile(file.read(), str(path), "exec"), module.__dict__)
    sys.modules[name] = module
    return module


class Result:
    """A compiled kernel with what it was compiled for."""

    def __init__(self, kernel, meta):
        self.kernel, self.meta = kernel, meta

    def __getstate__(self):
        kernel = self.kernel
        parts = {
            **kernel.__dict__,
            "metadata": kernel.metadata._asdict(),
            "packed_metadata": kernel.packed_metadata,
            "module": None,
            "function": None,
            "run": None,
        }
        return {**self.__dict__, "kernel": parts}

    def __setstate__(self, state):
        from pantile.compiler import CompiledKernel

        kernel = CompiledKernel.__new__(CompiledKernel)
        told = state["kernel"]["metadata"]
        metadata = namedtuple("KernelMetadata", sorted(told))(**told)
        kernel.__dict__.update({**state["kernel"], "metadata": metadata})
        self.__dict__.update(state)
        self.kernel = kernel

    def make_launcher(self):
        """`launcher(*args, grid, stream)` for the arguments that are not compile-time."""
        from pantile import knobs

        binary, constants = self.kernel, self.meta["constants"]
        names = binary.src.fn.arg_names
        binary._init_handles()
        scope = {
            "bin": binary,
            "launch_enter_hook": knobs.runtime.launch_enter_hook,
            "launch_exit_hook": knobs.runtime.launch_exit_hook,
            "metadata": binary.packed_metadata,
            "function": binary.function,
            "runner": binary.run,
        }
        given = [name for name in names if name not in constants]
        call = [repr(constants[name]) if name in constants else name for name in names]
        told = "None"
        if scope["launch_enter_hook"]:
            told = f"bin.launch_metadata((grid_0, grid_1, grid_2), stream, {', '.join(call)})"
        exec(
            f"def launcher({', '.join(given)}, grid_0, grid_1, grid_2, stream):\n"
            "    runner(grid_0, grid_1, grid_2, stream, function, metadata, "
            f"{told}, launch_enter_hook, launch_exit_hook, {', '.join(call)})\n",
            scope,
        )
        launcher = scope["launcher"]
        launcher.n_regs, launcher.n_spills = binary.n_regs, binary.n_spills
        launcher.shared = binary.metadata.shared
        launcher.cache_hash = binary.hash
        return launcher


class Tuner:
    """The configurations of a kernel; what crosses from the worker to the parent."""

    def __init__(self, fn):
        self.fn, self.results, self.launchers = fn, [], []
        self.lock = threading.Lock()

    def compile(self, signature, attrs, constants, target, **options):
        from pantile import compile
        from pantile.compiler.compiler import ASTSource

        meta = {"signature": signature, "constants": constants, "configs": [attrs]}
        source = ASTSource(self.fn, meta["signature"], meta["constants"], meta["configs"][0])
        options = {"debug": False, "sanitize_overflow": False, **options}
        kernel = compile(source, target=target, options=options)
        assert kernel.hash  # names the folder that the cache of graphs looks into
        self.results.append(Result(kernel, meta))
        return kernel

    def prepare_for_pickle(self):
        fn = self.fn
        old = (fn.fn, fn.__globals__, fn.used_global_vals, fn.repr, self.launchers)
        old += (getattr(fn, "_hash_lock", None),)
        fn.fn = None
        fn.__globals__ = None
        fn.used_global_vals = None
        fn.repr = FixedName(fn.repr(fn))
        self.launchers = []
        fn._hash_lock = None
        return old

    def restore_after_unpickle(self, old=None):
        fn = self.fn
        if old is None:
            fn._hash_lock = threading.RLock()
            return
        fn.fn, fn.__globals__, fn.used_global_vals, fn.repr, self.launchers, fn._hash_lock = old

    def make_launchers(self):
        self.launchers = [result.make_launcher() for result in self.results]
        return self.launchers

    def __getstate__(self):
        assert not self.launchers
        return {**self.__dict__, "lock": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.lock = threading.Lock()


def device_named(name):
    """The device of a fixture, in a process of its own."""
    if name != "emulated":
        from device_arrays import Device

        return Device(name)
    import emulated_device

    emulated_device.start()
    return emulated_device.EmulatedDevice()


def target_of(device):
    """The target that the worker gets: it may not query the device."""
    from pantile.backends.compiler import GPUTarget

    arch = getattr(device, "arch", None)
    if device.name == "cuda":
        import torch

        major, minor = torch.cuda.get_device_capability()
        arch = 10 * major + minor
    return GPUTarget("cuda", arch, 32) if arch else GPUTarget("cpu", "cpu", 1)
