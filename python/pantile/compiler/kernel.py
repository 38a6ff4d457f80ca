"""Compiled kernels, and how one is made of a program and the types of its arguments."""

import functools
import sys
import warnings

from .. import knobs
from ..backends.options import check_names, library_options
from ..backends.registry import make_backend
from ..backends.target import GPUTarget
from ..hooks import LaunchMetadata
from .assembly import Assembly
from .machine_code import Handles, MachineCode
from .metadata import metadata_of
from .remarks import Remark
from .source import ASTSource


class CompiledKernel:
    """A kernel ready to launch: `kernel[grid](*args)` takes all arguments, constants included."""

    __module__ = "pantile.compiler.compiler"  # where Triton has it

    def __init__(self, src, kernel, target, options, compile_to):
        self._code = MachineCode(kernel, compile_to)
        self._handles = None
        self.src, self.target, self.options = src, target, options
        self.name = kernel.name

    @property
    def _kernel(self):
        return self._code.kernel

    @functools.cached_property
    def hash(self):
        """The key of the cache; on the CPU, which has none, a digest of what was compiled."""
        return self._kernel.hash or self.src.hash()

    @functools.cached_property
    def metadata(self):
        """A named tuple of what was compiled: options, shared memory in bytes, target, hash."""
        return metadata_of(self._kernel, self.target, self.options)._replace(hash=self.hash)

    @property
    def packed_metadata(self):
        """The part of `metadata` that Triton's launchers take."""
        return make_backend(self.target).pack_metadata(self.metadata)

    @property
    def metadata_group(self):
        """Paths of the kernel's files in Triton's layout, by name; none where it was not written."""
        return self.__dict__.get("_files", {})

    @functools.cached_property
    def asm(self):
        """What each stage gave, by name: strings, and bytes of "cubin"; made on access."""
        kept = {**self._kernel.text, "source": self.src.fn.src}
        if self._kernel.cubin:
            kept["cubin"] = self._kernel.cubin
        compile_to = self._code.compile_to
        remake = compile_to and (
            lambda stage: compile_to(stop_after=stage, use_cache=False).text  # of the library
        )
        return Assembly(kept, remake, self.target.backend == "cuda")

    @property
    def kernel(self):
        """The machine code in bytes; on the CPU the tile IR as text."""
        return self._kernel.cubin or self._kernel.text.get("tile", "")

    @property
    def n_regs(self):
        """Registers of a thread, as the assembler counted them; 0 on the CPU."""
        return self._kernel.registers

    @property
    def n_spills(self):
        """Registers of 32 bits that a thread spills to memory; 0 on the CPU."""
        return -(-self._kernel.spills // 4)

    @property
    def n_max_threads(self):
        """Threads that a CTA may have, 1024 until the code is loaded."""
        return self._handles[4] if self._handles else 1024

    @property
    def module(self):
        """The driver's handle of the loaded code (a CUmodule as an int); None on the CPU.

        It is the code that launches on the current GPU run. To give its variables values, as
        NVSHMEM does, set them before the first launch, in `knobs.runtime.jit_post_compile_hook`.
        """
        self._init_handles()
        return self._handles[0]

    @property
    def function(self):
        """The driver's handle of the kernel (a CUfunction as an int); None on the CPU."""
        self._init_handles()
        return self._handles[1]

    def _init_handles(self):
        """Load the code; launches run the same, so that they see what is done to its variables."""
        if self._handles is not None:
            return
        if self.target.backend != "cuda":
            self._handles = Handles((None, None, 0, 0, 1024))
            return
        from ..runtime.device import active_device

        hooks, arguments = knobs.runtime, (self.name, self.metadata_group, self.hash)
        if hooks.kernel_load_start_hook:
            hooks.kernel_load_start_hook(None, None, *arguments)
        active = active_device()
        device = active.get_current_device()
        handles = self._kernel.handles(device)
        facts = active.utils.facts_of_function(handles[1], device)
        self._handles = Handles((*handles, *facts))
        if hooks.kernel_load_end_hook:
            hooks.kernel_load_end_hook(*self._handles[:2], *arguments)

    @property
    def warnings(self):
        """What the compiler and the assembler warned of, as text."""
        return self._kernel.warnings

    @functools.cached_property
    def remarks(self):
        """What was done for the kernel's speed, what was not, and why: Remarks by their place.

        Unless they were requested (`PANTILE_REMARKS=1`), the kernel is compiled once more for them.
        """
        rows = self._kernel.remarks
        if not rows and self.target.backend == "cuda":
            rows = self._code.compile(use_cache=False, remarks=True).remarks
        return [Remark(*row) for row in rows]

    @functools.cached_property
    def plan(self):
        """How the kernel is mapped to the GPU, as a string; "" on the CPU, which has no plan.

        A line each for how programs are mapped to CTAs, for the shared memory, registers and CTAs
        per SM that are predicted, and for the warps of each role; per loop with MMAs or channels
        the predicted cycles per iteration and what limits them, the channels (shape, type, stages,
        transport) and the MMAs; last what the assembler said. `docs/remarks-and-plans.md` explains the lines.
        """
        return self.asm.get("plan", "")

    @property
    def timings(self):
        """Milliseconds of each stage of the compilation, in order."""
        return dict(self._kernel.timings)

    @property
    def from_cache(self):
        """Whether the code was read from the cache and not compiled."""
        return self._kernel.from_cache

    def launch_metadata(self, grid, stream, *args):
        """Return what launch hooks get; None where no hook is set.

        Parameters
        ----------
        grid : tuple of int
            Programs along three axes.
        stream : int
            The stream's handle.
        args : arguments
            Of the launch, in the order of the parameters.
        """
        hooks = knobs.runtime
        if not (hooks.launch_enter_hook or hooks.launch_exit_hook):
            return None
        result = LaunchMetadata(
            self.metadata._asdict(), name=self.name, function=self._told_function, stream=stream
        )
        if self.src.fn.launch_metadata is not None:
            named = dict(zip(self.src.fn.arg_names, args))
            result.add(self.src.fn.launch_metadata, (grid, self.metadata, named))
        return result

    @property
    def _told_function(self):
        return self._handles[1] if self._handles else None

    def _call(self, args, kwargs):
        for name in ("launch_cooperative_grid", "launch_pdl"):
            if getattr(self.options, name):
                kwargs = {**kwargs, name: True}
        call = self.src.fn.dispatcher.prepare(*args, **kwargs)
        if call.target == "cpu" and self.target.backend == "cuda":
            call.require_on_device()
        call.use(self, self._kernel)
        self.src.fn._check_arguments(call)
        return call

    def __getitem__(self, grid):
        def launch(*args, stream=None, **kwargs):
            call = self._call(args if kwargs else self._with_constants(args), kwargs)
            extents = grid(call.named()) if callable(grid) else grid
            if knobs.runtime.launch_enter_hook or knobs.runtime.launch_exit_hook:
                self._launch_with_hooks(call, extents, stream)
            else:
                call.launch(extents, stream)

        return launch

    def _launch_with_hooks(self, call, grid, stream):
        metadata = self.launch_metadata(grid, stream, *call.values)
        knobs.runtime.launch_enter_hook(metadata)
        call.launch(grid, stream)
        knobs.runtime.launch_exit_hook(metadata)

    @property
    def run(self):
        """Launches as Triton's generated launchers do, with a stream's handle and explicit hooks.

        `run(grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata,
        launch_enter_hook, launch_exit_hook, *args)`: all arguments, or those that are not constexpr.
        """
        # A property: libraries put None under this name into the attributes of a restored kernel.
        options = self.options
        if options.launch_cooperative_grid or options.launch_pdl or self.target.backend != "cuda":
            return self._run
        from .. import _pantile

        code = self._code
        if code.direct_run is None:
            constexprs = [parameter.is_constexpr for parameter in self.src.fn.params]
            code.direct_run = _pantile.DirectRun(code.kernel, constexprs)
        return _pantile.run_function(code.direct_run, self._run)

    def _run(
        self,
        grid_0,
        grid_1,
        grid_2,
        stream,
        function,
        packed_metadata,
        launch_metadata,
        launch_enter_hook,
        launch_exit_hook,
        *args,
    ):
        """Launch with hooks, or with arguments that the C function of `run` leaves."""
        grid = (grid_0, grid_1, grid_2)
        if launch_enter_hook or launch_exit_hook:
            if launch_enter_hook:
                launch_enter_hook(launch_metadata)
            self.run(*grid, stream, function, packed_metadata, None, None, None, *args)
            if launch_exit_hook:
                launch_exit_hook(launch_metadata)
        else:
            self._call(self._with_constants(args), {}).launch(grid, stream)

    def _with_constants(self, args):
        fn = self.src.fn
        if len(args) != len(fn.params) - len(fn.constexprs):
            return args
        rest = iter(args)
        constants = self.src.constants
        return [constants[i,] if p.is_constexpr else next(rest) for i, p in enumerate(fn.params)]

    def __reduce__(self):
        if self._code.compile_to is None:
            return (_restore, (self.__dict__,))
        place = f"{self.src.fn.module}:{self.src.fn.__qualname__}"
        parts = (self.src.signature, self.src.constants, self.src.attrs)
        return (_recompile, (place, *parts, self.target, self.options))

    def __repr__(self):
        return f"CompiledKernel({self.name}, {self.target})"


def _restore(attributes):
    kernel = CompiledKernel.__new__(CompiledKernel)
    kernel.__dict__.update(attributes)
    return kernel


def _recompile(place, signature, constants, attrs, target, options):
    from ..runtime.preload import find_function

    source = ASTSource(find_function(place), signature, constants, attrs)
    return compile_source(source, target, options._asdict())


def compile_source(src, target, options):
    """Return the CompiledKernel of an ASTSource for a GPUTarget and a launch's keywords."""
    from ..runtime.snapshot import Snapshot

    known = {name: value for name, value in options.items() if name != "backend_name"}
    snapshot = Snapshot(src.fn)
    specialization = src.specialization(snapshot.constant)
    return prepare(snapshot.program(), specialization, target.name, known, src, strict=False)()


def _target_of(name):
    if name == "cpu":
        return GPUTarget("cpu", "cpu", 1)
    return GPUTarget("cuda", int("".join(c for c in name[3:] if c.isdigit())), 32)


def prepare(program, specialization, target, keywords, src, strict=True):
    """Return a function without arguments that compiles; it may run on any thread.

    `target` is the compiler's name, `keywords` those of the launch: KeyError for an unknown one if
    `strict`.
    """
    if strict:
        check_names(keywords)
    gpu_target = _target_of(target)
    if keywords.get("debug") is None and src.fn.debug is not None:
        keywords = {**keywords, "debug": src.fn.debug}
    options = make_backend(gpu_target).parse_options(keywords)
    if gpu_target.backend == "cuda":
        # `arch`, or TRITON_OVERRIDE_ARCH, selects another processor than that of the current device.
        wanted = int("".join(c for c in str(options.arch) if c.isdigit()))
        if wanted != gpu_target.arch:
            gpu_target = GPUTarget("cuda", wanted, 32)
            target = gpu_target.name
    library = library_options(target, options)
    return functools.partial(_build, program, specialization, library, src, gpu_target, options)


def _build(program, specialization, library, src, target, options):
    """Run the compiler; show its warnings; call the listener."""
    from .. import _pantile

    knobs.export()
    compile_to = functools.partial(_pantile.compile, program, specialization, library)
    kernel = compile_to(
        dump_dir=knobs.compilation.dump_path,
        use_cache=not knobs.compilation.always_compile,
        remarks=knobs.compilation.remarks,
    )
    for row in kernel.remarks:
        print(Remark(*row), end="", file=sys.stderr)
    if kernel.warnings:
        warnings.warn(kernel.warnings, RuntimeWarning, stacklevel=5)
    compiled = CompiledKernel(src, kernel, target, options, compile_to)
    if knobs.nvidia.dump_nvptx and target.backend == "cuda" and not kernel.from_cache:
        print(compiled.asm["ptx"], file=sys.stderr)
    if knobs.cache.triton_layout:
        publish_files(compiled, texts=True)
    if knobs.compilation.listener is not None:
        _tell(knobs.compilation.listener, compiled)
    return compiled


def publish_files(compiled, texts, machine_code=True):
    """Write a kernel's files in Triton's layout: the texts of its stages only if `texts` is set."""
    from .triton_layout import publish

    compiled._files = publish(compiled, texts, machine_code)


def _tell(listener, compiled):
    stages = [(stage, int(ms * 1000)) for stage, ms in compiled.timings.items()]
    listener(
        src=compiled.src,
        metadata=compiled.metadata._asdict(),
        metadata_group=compiled.metadata_group,
        times=knobs.CompileTimes(ir_initialization=0, lowering_stages=stages, store_results=0),
        cache_hit=compiled.from_cache,
    )
