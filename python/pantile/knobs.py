"""Settings from the environment, read on access, and the hooks of launches.

Each setting has a name of ours (`PANTILE_...`) and, where Triton has one, Triton's (`TRITON_...`).
Assigning to one (`knobs.autotuning.print = True`) overrides the environment until `reset()`, or
until the end of `with knobs.autotuning.scope():`.
"""

import sys
from collections import namedtuple

from .cache_settings import Cache, Redis
from .env_settings import (
    env_base,
    env_bool,
    env_class,
    env_int,
    env_nvidia_tool,
    env_opt_bool,
    env_opt_str,
    env_str,
    env_str_callable_default,
    getenv_bool,
    setenv,
    toenv,
)
from .hooks import HookChain
from .settings import (
    Env,
    Flag,
    Group,
    Setting,
    export_all,
    flag,
    getenv,
    truth,
    update_compile_settings,
)
from .toolkit import NvidiaTool, tool_setting

# Whether an override shows in the environment, and so in children of the process.
propagate_env = True
env = Env()

__all__ = [
    "CompileTimes",
    "Env",
    "HookChain",
    "NvidiaTool",
    "amd",
    "autotuning",
    "base_knobs",
    "build",
    "cache",
    "compilation",
    "env",
    "env_base",
    "env_bool",
    "env_class",
    "env_int",
    "env_nvidia_tool",
    "env_opt_bool",
    "env_opt_str",
    "env_str",
    "env_str_callable_default",
    "export",
    "flag",
    "getenv",
    "getenv_bool",
    "language",
    "nvidia",
    "propagate_env",
    "proton",
    "redis",
    "refresh_knobs",
    "runtime",
    "setenv",
    "toenv",
    "update_compile_settings",
]


class Check(Setting):
    """Which checks launches make; the extension module sends them where the checks are."""

    def export(self, group):
        super().export(group)
        if group.is_live and "pantile._pantile" in sys.modules:
            from . import _pantile

            _pantile.check_overlaps(group.checks("overlap"))


class Runtime(Group):
    """Launches, and hooks around launches and compilations."""

    interpret = Flag(
        "PANTILE_INTERPRET",
        "TRITON_INTERPRET",
        doc="kernels run on the CPU; arrays of a GPU are copied there and back",
    )
    debug = Flag(
        "PANTILE_DEVICE_ASSERTS",
        "TRITON_DEBUG",
        compiled=True,
        doc="compile `device_assert` and the checks for overflow in, as `debug=True` of a launch",
    )
    sanitize_overflow = Flag(
        "PANTILE_SANITIZE_OVERFLOW",
        "TRITON_SANITIZE_OVERFLOW",
        default=True,
        compiled=True,
        doc="with `debug`: assert that additions, subtractions and products of integers do not wrap",
    )
    override_arch = Setting(
        "TRITON_OVERRIDE_ARCH",
        compiled=True,
        doc='compile for this processor ("sm_80") instead of the GPU at hand',
    )
    launch_abi = Setting(
        "PANTILE_LAUNCH_ABI",
        shown="`full`; of `compile` `triton`, for Inductor `auto`",
        compiled=True,
        doc="`triton`: any launcher can start kernels; `full`: ours alone; `auto`: ours where it will",
    )
    num_threads = Setting(
        "PANTILE_NUM_THREADS",
        parse=int,
        exported=True,
        shown="the cores that the process may use",
        doc="threads that a launch on the CPU runs on; 1 makes the order of programs fixed",
    )
    check = Check(
        "PANTILE_CHECK",
        exported=True,
        doc="with commas: `bounds`: on the CPU a read outside of an array is an error too, not a warning and 0; "
        "`overlap`: warn of arguments that share memory which the kernel writes",
    )

    def checks(self, name):
        """Return whether `check` names a check."""
        return name in (self.check or "").split(",")

    def _start(self):
        self.launch_enter_hook = HookChain()
        self.launch_exit_hook = HookChain(reversed=True)
        self.kernel_load_start_hook = HookChain()
        self.kernel_load_end_hook = HookChain(reversed=True)
        self.jit_cache_hook = None
        self.jit_post_compile_hook = None
        self.add_stages_inspection_hook = None

    def copy(self):
        result = super().copy()
        for name, hook in self.__dict__.items():
            if isinstance(hook, HookChain):
                made = HookChain(hook.reversed)
                made.calls = list(hook.calls)
                result.__dict__[name] = made
        return result


class Autotuning(Group):
    """How the tuner behaves."""

    cache = Flag(
        "PANTILE_CACHE_AUTOTUNING",
        "TRITON_CACHE_AUTOTUNING",
        doc="keep what was measured between processes",
    )
    print = Flag(
        "PANTILE_PRINT_AUTOTUNING",
        "TRITON_PRINT_AUTOTUNING",
        doc="print the time that tuning took and the choice, in Triton's words",
    )
    store = Flag(
        "PANTILE_STORE_TUNING",
        default=True,
        doc="keep the times that `autotune` takes on a GPU by itself in the cache of kernels",
    )
    deterministic = Flag(
        "PANTILE_DETERMINISTIC_TUNING",
        doc="measure nothing: take the fastest configuration in the cache, else the first that fits",
    )
    across_ranks = Flag(
        "PANTILE_TUNE_ACROSS_RANKS",
        default=True,
        doc="ranks of one run take the same configuration, which one of them measures",
    )
    wait_seconds = Setting(
        "PANTILE_TUNE_WAIT_SECONDS",
        default=300.0,
        parse=float,
        shown="300",
        doc="how long a process waits for another one that tunes the same kernel, before it tunes as well",
    )
    run_id = Setting(
        "PANTILE_RUN_ID",
        doc="a string that the ranks of one run have in common, where their launcher gives them none",
    )
    progress = Flag(
        "PANTILE_PROGRESS", default=True, doc="show a bar on a terminal while `autotune` works"
    )
    tune_cpu = Flag(
        "PANTILE_TUNE_CPU", doc="measure on the CPU too, instead of taking the first configuration"
    )


class Compilation(Group):
    """How kernels are compiled. `listener` is called for every compilation."""

    always_compile = Flag(
        "PANTILE_ALWAYS_COMPILE",
        "TRITON_ALWAYS_COMPILE",
        doc="never take a kernel from the cache",
    )
    disable_line_info = Flag(
        "PANTILE_DISABLE_LINE_INFO",
        "TRITON_DISABLE_LINE_INFO",
        compiled=True,
        doc="leave source lines out of PTX and machine code",
    )
    allow_non_constexpr_globals = Flag(
        "PANTILE_ALLOW_NON_CONSTEXPR_GLOBALS",
        "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS",
        compiled=True,
        doc="kernels may read plain numbers among the globals of their module",
    )
    dump_dir = Setting(
        "PANTILE_DUMP_DIR",
        default="",
        doc="folder for numbered files with the IR after every stage and pass of every compilation",
    )
    dump_ir = Flag("TRITON_KERNEL_DUMP", doc="the same into `cache.dump_dir`")
    remarks = Flag(
        "PANTILE_REMARKS",
        doc="print what the compiler made of each kernel's lines, and why not more",
    )
    debug_topics = Setting(
        "PANTILE_DEBUG",
        unused=True,
        doc="passes write nothing while they run: `PANTILE_DUMP_DIR` has the IR after each",
    )
    override = Flag("TRITON_KERNEL_OVERRIDE", unused=True, doc="stages are not replaced")
    store_binary_only = Flag(
        "TRITON_STORE_BINARY_ONLY", doc="with `cache.triton_layout`: leave out the stages as text"
    )
    dump_ir_extract_di_local_variables = Flag(
        "LLVM_EXTRACT_DI_LOCAL_VARIABLES", unused=True, doc="there are no variables in debug info"
    )
    use_ir_loc = Setting("USE_IR_LOC", unused=True, doc="lines are always those of the source")
    enable_asan = Flag("TRITON_ENABLE_ASAN", unused=True, doc="the CPU checks every access")
    front_end_debugging = Flag(
        "TRITON_FRONT_END_DEBUGGING", unused=True, doc="errors always hold all that is known"
    )
    instrumentation_mode = Setting(
        "TRITON_INSTRUMENTATION_MODE", default="", unused=True, doc="there is no instrumentation"
    )

    def _start(self):
        self.listener = None

    @property
    def dump_path(self):
        """The folder that IR is dumped to; "" for none."""
        return self.dump_dir or (cache.dump_dir if self.dump_ir else "")


class Language(Group):
    """Defaults of the language."""

    fp32_default = Setting(
        "PANTILE_F32_DEFAULT",
        "TRITON_F32_DEFAULT",
        shown="tf32",
        compiled=True,
        doc="precision of `tl.dot` of fp32 operands: `tf32`, `tf32x3`, `ieee`, `bf16x3` or `bf16x6`",
    )
    default_fp_fusion = Flag(
        "PANTILE_DEFAULT_FP_FUSION",
        "TRITON_DEFAULT_FP_FUSION",
        default=True,
        compiled=True,
        doc="contract `a * b + c` to one rounding",
    )


class Build(Group):
    """What Triton builds its launchers with; ours need no C compiler."""

    cc = Setting("CC", doc="C compiler of `runtime.build`, for libraries that build with it")
    cudacrt_path = Setting("TRITON_CUDACRT_PATH", doc="folder of CUDA's headers for it")
    cudart_path = Setting("TRITON_CUDART_PATH", doc="folder of CUDA's runtime headers for it")
    impl = None

    @property
    def backend_dirs(self):
        return {path for path in (self.cudacrt_path, self.cudart_path) if path}


class Nvidia(Group):
    """Tools and libraries of NVIDIA. The library chooses its assembler once per process."""

    assembler = Setting(
        "PANTILE_ASSEMBLER",
        exported=True,
        shown="the first that is found",
        doc="what makes machine code of PTX: `ptxas`, `nvjitlink` or `driver`",
    )
    ptxas = tool_setting(
        "ptxas", "PANTILE_PTXAS_PATH", "TRITON_PTXAS_PATH", exported=True, doc="the assembler"
    )
    ptxas_options = Setting(
        "PANTILE_PTXAS_OPTIONS",
        "PTXAS_OPTIONS",
        compiled=True,
        doc="more options of the assembler, before `ptx_options` of a launch",
    )
    disable_ptxas_opt = Flag(
        "PANTILE_DISABLE_PTXAS_OPT",
        "DISABLE_PTXAS_OPT",
        compiled=True,
        doc="assemble without optimisation",
    )
    dump_nvptx = Flag("NVPTX_ENABLE_DUMP", doc="print the PTX of each kernel that is compiled")
    cuobjdump = tool_setting("cuobjdump", "TRITON_CUOBJDUMP_PATH", doc='for `kernel.asm["sass"]`')
    nvdisasm = tool_setting("nvdisasm", "TRITON_NVDISASM_PATH", doc="the same, and first choice")
    libdevice_path = Setting(
        "PANTILE_LIBDEVICE_PATH",
        "TRITON_LIBDEVICE_PATH",
        exported=True,
        compiled=True,
        shown="next to the assembler, in NVIDIA's wheels",
        doc="bitcode of NVIDIA's mathematical functions, for kernels that call some of them",
    )
    libcuda_path = Setting(
        "PANTILE_LIBCUDA_PATH",
        "TRITON_LIBCUDA_PATH",
        exported=True,
        shown="`libcuda.so.1`",
        doc="the CUDA driver's library",
    )
    ptxas_blackwell = tool_setting(
        "ptxas", "TRITON_PTXAS_BLACKWELL_PATH", unused=True, doc="one assembler serves all GPUs"
    )
    mock_ptx_version = Setting(
        "TRITON_MOCK_PTX_VERSION",
        unused=True,
        doc="PTX has the oldest version that has its instructions",
    )
    dump_ptxas_log = Flag(
        "TRITON_DUMP_PTXAS_LOG", unused=True, doc="registers and spills are on the kernel"
    )


class Amd(Group):
    """Settings of a target that is not here; libraries read and set them all the same."""

    use_buffer_ops = Flag("AMDGCN_USE_BUFFER_OPS", default=True, unused=True)
    use_buffer_atomics = Flag("AMDGCN_USE_BUFFER_ATOMICS", default=True, unused=True)
    dump_amdgcn = Flag("AMDGCN_ENABLE_DUMP", unused=True)
    libhip_path = Setting("TRITON_LIBHIP_PATH", unused=True)
    use_in_thread_transpose = Flag("TRITON_HIP_USE_IN_THREAD_TRANSPOSE", unused=True)
    use_async_copy = Flag("TRITON_HIP_USE_ASYNC_COPY", unused=True)
    scalarize_packed_fops = Flag("AMDGCN_SCALARIZE_PACKED_FOPS", unused=True)
    buffer_ops_analyze_small_tensor_range = Flag("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE", unused=True)
    use_block_pingpong = Setting("TRITON_HIP_USE_BLOCK_PINGPONG", parse=truth, unused=True)


class Proton(Group):
    """The profiler of kernels, `pantile.profiler`."""

    disable = Flag("TRITON_PROTON_DISABLE", doc="`profiler.start` does nothing")
    cupti_lib_dir = Setting(
        "TRITON_CUPTI_LIB_PATH",
        shown="loaded ones, NVIDIA's wheels, the loader's path, the toolkit",
        doc="the folder that CUPTI's library is in",
    )
    enable_nvtx = Flag(
        "TRITON_ENABLE_NVTX", default=True, unused=True, doc="scopes are no ranges of NVTX"
    )


class CompileTimes(
    namedtuple("CompileTimes", ["ir_initialization", "lowering_stages", "store_results"])
):
    """What a listener gets, in microseconds; the stages as pairs of name and time."""

    __slots__ = ()

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results


# The names that Triton has for the kinds of groups.
base_knobs = Group
build_knobs, redis_knobs, cache_knobs = Build, Redis, Cache
compilation_knobs, autotuning_knobs, runtime_knobs = Compilation, Autotuning, Runtime
language_knobs, nvidia_knobs, amd_knobs, proton_knobs = Language, Nvidia, Amd, Proton

build = Build.make_live()
redis = Redis.make_live()
cache = Cache.make_live()
compilation = Compilation.make_live()
autotuning = Autotuning.make_live()
runtime = Runtime.make_live()
language = Language.make_live()
nvidia = Nvidia.make_live()
amd = Amd.make_live()
proton = Proton.make_live()


def export():
    """Put settings that are overridden into the environment, where the library reads them."""
    export_all()


def refresh_knobs():
    """Drop all overrides, so that every setting is read from the environment again."""
    for group in (
        build,
        redis,
        cache,
        compilation,
        autotuning,
        runtime,
        language,
        nvidia,
        amd,
        proton,
    ):
        group.reset()
