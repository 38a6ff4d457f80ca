"""Compiled kernels, and compiling ahead of a launch."""

import functools

from .. import knobs
from ..backends.compiler import GPUTarget
from .options import make_options

# Triton's names of the stages, for code that reads `kernel.asm["ttgir"]`.
_ALIASES = {"ttir": "tile", "ttgir": "mma", "llir": "llvm"}


_STAGES = ("ast", "tile", "layout", "pipeline", "mma", "llvm", "ptx")


class _Assembly(dict):
    """The text of each stage. What was not kept is made again when asked for, and so is "sass"."""

    def __init__(self, kept, remake):
        super().__init__(kept)
        self._remake = remake

    def __missing__(self, stage):
        stage = _ALIASES.get(stage, stage)
        if stage == "sass" and "cubin" in self:
            self[stage] = _disassemble(self["cubin"])
        elif stage in _STAGES and stage not in self:
            self.update(self._remake(stage))
        return dict.__getitem__(self, stage)


def _disassemble(cubin):
    import os
    import shutil
    import subprocess
    import tempfile

    tool = shutil.which("nvdisasm") or "/usr/local/cuda/bin/nvdisasm"
    if not os.path.exists(tool):
        raise FileNotFoundError("nvdisasm is not installed")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run(
            [tool, "-c", file.name], check=True, capture_output=True, text=True
        ).stdout


class KernelMetadata:
    """What a launcher has to know, as attributes."""

    def __init__(self, kernel):
        options = kernel.options
        self.name = kernel.name
        self.hash = kernel.hash
        self.shared = kernel.shared
        self.num_warps = kernel.num_warps or options.num_warps
        self.num_stages = options.num_stages
        self.num_ctas = options.num_ctas
        self.maxnreg = options.maxnreg or None
        self.enable_fp_fusion = options.enable_fp_fusion
        self.debug = options.debug
        self.target = _target_of(options.target)
        self.global_scratch_size = self.profile_scratch_size = 0

    def _asdict(self):
        return dict(vars(self))


def _target_of(name):
    if name == "cpu":
        return GPUTarget("cpu", "cpu", 1)
    return GPUTarget("cuda", int("".join(c for c in name[3:] if c.isdigit())), 32)


class CompiledKernel:
    """A kernel ready to launch: `kernel[grid](*args)` takes all arguments, constants included."""

    def __init__(self, kernel, function, compile_to):
        self._kernel = kernel
        self._compile_to = compile_to
        self.src = function
        self.name = kernel.name
        self.hash = kernel.hash

    @functools.cached_property
    def metadata(self):
        return KernelMetadata(self._kernel)

    @functools.cached_property
    def asm(self):
        stages = _Assembly(
            self._kernel.text,
            lambda stage: self._compile_to(stop_after=stage, use_cache=False).text,
        )
        if self._kernel.cubin:
            stages["cubin"] = self._kernel.cubin
        return stages

    @property
    def kernel(self):
        return self._kernel.cubin

    @property
    def n_regs(self):
        return self._kernel.registers

    @property
    def n_spills(self):
        return self._kernel.spills

    @property
    def n_max_threads(self):
        return 1024

    @property
    def timings(self):
        """Milliseconds of each stage of the compilation, in order."""
        return dict(self._kernel.timings)

    @property
    def from_cache(self):
        return self._kernel.from_cache

    def __getitem__(self, grid):
        def launch(*args, **kwargs):
            call = self.src.dispatcher.prepare(*args, **kwargs)
            call.use(self, self._kernel)
            call.launch(grid(call.named()) if callable(grid) else grid)

        return launch


class ASTSource:
    """A jit function with the types of its parameters, to be compiled without arguments.

    `signature` maps parameter names to types such as "*fp16", "i32" or "constexpr"; `constexprs` maps names (or
    positions) to values; `attrs` maps positions to [["tt.divisibility", 16]].
    """

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn = fn
        self.signature = dict(signature)
        self.constants = {self._position(key): value for key, value in (constexprs or {}).items()}
        self.attrs = {self._position(key): value for key, value in (attrs or {}).items()}

    def _position(self, key):
        if isinstance(key, tuple):
            (key,) = key
        return self.fn.arg_names.index(key) if isinstance(key, str) else key

    def specialization(self, to_constant):
        from .. import _pantile

        result = _pantile.Specialization()
        for position, name in enumerate(self.fn.arg_names):
            if position in self.constants:
                result.append_constant(to_constant(self.constants[position]))
                continue
            if name not in self.signature or self.signature[name] == "constexpr":
                raise ValueError(f"parameter `{name}` has neither a type nor a value")
            aligned = any(attr[0] == "tt.divisibility" for attr in self.attrs.get(position, ()))
            result.append(self.signature[name] + (":16" if aligned else ""))
        return result


def compile(src, target=None, options=None):
    """Compile `src` for `target`, or for the device at hand, and return the CompiledKernel."""
    from ..runtime.driver import driver
    from ..runtime.snapshot import Snapshot

    target = target or driver.active.get_current_target()
    snapshot = Snapshot(src.fn)
    specialization = src.specialization(snapshot.constant)
    return build(
        snapshot.program(), specialization, make_options(target.name, options or {}), src.fn
    )


def build(program, specialization, options, function):
    """Run the compiler; warn with what it has to say."""
    from .. import _pantile

    compile_to = functools.partial(_pantile.compile, program, specialization, options)
    kernel = compile_to(dump_dir=knobs.compilation.dump_dir)
    if kernel.warnings:
        import warnings

        warnings.warn(kernel.warnings, RuntimeWarning, stacklevel=4)
    return CompiledKernel(kernel, function, compile_to)
