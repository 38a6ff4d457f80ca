"""Settings from the environment, read when asked for, and the hooks of launches.

Each setting has a name of ours (`PANTILE_...`) and, where Triton has one, Triton's (`TRITON_...`).
Assigning to one (`knobs.autotuning.print = True`) overrides the environment until `reset()`, or
until the end of `with knobs.autotuning.scope():`.
"""

import functools
import os
from collections import namedtuple
from contextlib import contextmanager

from .hooks import HookChain

__all__ = [
    "CompileTimes",
    "HookChain",
    "amd",
    "autotuning",
    "build",
    "cache",
    "compilation",
    "language",
    "nvidia",
    "proton",
    "redis",
    "runtime",
]


def flag(*names, default=False):
    """Return whether one of the environment variables `names` is set to a true value."""
    for name in names:
        value = os.environ.get(name)
        if value is not None:
            return value.lower() in ("1", "true", "on", "yes", "y")
    return default


def getenv(name):
    """Return the text of an environment variable, stripped; None if it is not set."""
    value = os.environ.get(name)
    return value if value is None else value.strip()


class Setting:
    """A value from the first environment variable that is set. An attribute of the object wins."""

    def __init__(self, *names, default=None, parse=str):
        self.names, self.default, self.parse = names, default, parse

    def __get__(self, group, owner=None):
        if group is None:
            return self
        for name in self.names:
            value = os.environ.get(name)
            if value is not None:
                return self.parse(value.strip())
        return self.default(group) if callable(self.default) else self.default


def _truth(text):
    return text.lower() in ("1", "true", "on", "yes", "y")


def Flag(*names, default=False):
    """A Setting that is true or false."""
    return Setting(*names, default=default, parse=_truth)


class Group:
    """Settings that belong together."""

    def __init__(self):
        self._start()

    def _start(self):
        """Set what is no setting from the environment: hooks."""

    @property
    def knobs(self):
        """The values of all settings by name."""
        return {
            name: getattr(self, name)
            for name, kind in sorted(vars(type(self)).items())
            if isinstance(kind, Setting)
        }

    @property
    def knob_descriptors(self):
        return {name: kind for name, kind in vars(type(self)).items() if isinstance(kind, Setting)}

    def copy(self):
        """Return a group of the same kind with the same overrides."""
        result = type(self)()
        result.__dict__.update(self.__dict__)
        return result

    def reset(self):
        """Drop all overrides, so that the environment counts again; return the group."""
        self.__dict__.clear()
        self._start()
        return self

    @contextmanager
    def scope(self):
        """Within the block, overrides and environment may change; behind it all is as before."""
        saved = dict(self.__dict__)
        names = [name for kind in self.knob_descriptors.values() for name in kind.names]
        environment = {name: os.environ.get(name) for name in names}
        try:
            yield self
        finally:
            self.__dict__.clear()
            self.__dict__.update(saved)
            for name, value in environment.items():
                _set_variable(name, value)


def _set_variable(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


class Runtime(Group):
    """Hooks around launches and compilations."""

    interpret = Flag("PANTILE_INTERPRET", "TRITON_INTERPRET")
    debug = Flag("PANTILE_DEVICE_ASSERTS", "TRITON_DEBUG")
    sanitize_overflow = Flag("TRITON_SANITIZE_OVERFLOW", default=True)
    override_arch = Setting("TRITON_OVERRIDE_ARCH")

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

    cache = Flag("PANTILE_CACHE_AUTOTUNING", "TRITON_CACHE_AUTOTUNING")
    print = Flag("PANTILE_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING")
    tune_cpu = Flag("PANTILE_TUNE_CPU")


class Compilation(Group):
    """How kernels are compiled. `listener` is told of every compilation."""

    override = Flag("TRITON_KERNEL_OVERRIDE")
    dump_ir = Flag("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = Flag("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = Flag("TRITON_STORE_BINARY_ONLY")
    always_compile = Flag("PANTILE_ALWAYS_COMPILE", "TRITON_ALWAYS_COMPILE")
    use_ir_loc = Setting("USE_IR_LOC")
    enable_asan = Flag("TRITON_ENABLE_ASAN")
    disable_line_info = Flag("PANTILE_DISABLE_LINE_INFO", "TRITON_DISABLE_LINE_INFO")
    front_end_debugging = Flag("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = Flag(
        "PANTILE_ALLOW_NON_CONSTEXPR_GLOBALS", "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"
    )
    instrumentation_mode = Setting("TRITON_INSTRUMENTATION_MODE", default="")
    dump_dir = Setting("PANTILE_DUMP_DIR", default="")

    def _start(self):
        self.listener = None

    @property
    def dump_path(self):
        """The folder that IR is dumped to; "" for none."""
        return self.dump_dir or (cache.dump_dir if self.dump_ir else "")


class Language(Group):
    """Defaults of the language."""

    fp32_default = Setting("PANTILE_F32_DEFAULT", "TRITON_F32_DEFAULT")
    default_fp_fusion = Flag("PANTILE_DEFAULT_FP_FUSION", "TRITON_DEFAULT_FP_FUSION", default=True)


def _triton_folder(name):
    return lambda group: os.path.join(group.home_dir, ".triton", name)


def _kernel_folder(_):
    return os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pantile"
    )


class Cache(Group):
    """Where files are kept."""

    home_dir = Setting("TRITON_HOME", default=lambda _: os.path.expanduser("~"))
    dir = Setting("PANTILE_CACHE_DIR", "TRITON_CACHE_DIR", default=_kernel_folder)
    dump_dir = Setting("TRITON_DUMP_DIR", default=_triton_folder("dump"))
    override_dir = Setting("TRITON_OVERRIDE_DIR", default=_triton_folder("override"))
    manager_class = Setting("TRITON_CACHE_MANAGER")
    remote_manager_class = Setting("TRITON_REMOTE_CACHE_BACKEND")

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class Redis(Group):
    """Where a shared cache is."""

    key_format = Setting("TRITON_REDIS_KEY_FORMAT", default="triton:{key}:{filename}")
    host = Setting("TRITON_REDIS_HOST", default="localhost")
    port = Setting("TRITON_REDIS_PORT", default=6379, parse=int)


class Build(Group):
    """What Triton builds its launchers with; ours need no C compiler."""

    cc = Setting("CC")
    cudacrt_path = Setting("TRITON_CUDACRT_PATH")
    cudart_path = Setting("TRITON_CUDART_PATH")
    impl = None

    @property
    def backend_dirs(self):
        return {path for path in (self.cudacrt_path, self.cudart_path) if path}


class NvidiaTool(namedtuple("NvidiaTool", ["path", "version"])):
    """A program of the CUDA toolkit."""

    __slots__ = ()

    @staticmethod
    @functools.cache
    def from_path(path):
        """Return the tool at `path`, or None if it does not say its version."""
        import subprocess

        try:
            text = subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        version = text.rpartition("release ")[2].partition(",")[0]
        return NvidiaTool(path, version)


def _tool(name, variable):
    def find(_):
        import shutil

        found = shutil.which(name) or os.path.join("/usr/local/cuda/bin", name)
        found = found if os.path.exists(found) else _in_wheels(name)
        return NvidiaTool.from_path(found) if found else None

    return Setting(variable, default=find, parse=NvidiaTool.from_path)


def _in_wheels(name):
    import glob
    import sysconfig

    pattern = os.path.join(sysconfig.get_path("purelib"), "nvidia", "*", "bin", name)
    return next(iter(sorted(glob.glob(pattern))), None)


class Nvidia(Group):
    """Tools and libraries of NVIDIA."""

    cuobjdump = _tool("cuobjdump", "TRITON_CUOBJDUMP_PATH")
    nvdisasm = _tool("nvdisasm", "TRITON_NVDISASM_PATH")
    ptxas = _tool("ptxas", "TRITON_PTXAS_PATH")
    ptxas_blackwell = _tool("ptxas", "TRITON_PTXAS_BLACKWELL_PATH")
    dump_nvptx = Flag("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = Flag("DISABLE_PTXAS_OPT")
    ptxas_options = Setting("PTXAS_OPTIONS")
    mock_ptx_version = Setting("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = Flag("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = Setting("PANTILE_LIBDEVICE_PATH", "TRITON_LIBDEVICE_PATH")
    libcuda_path = Setting("PANTILE_LIBCUDA_PATH", "TRITON_LIBCUDA_PATH")


class Amd(Group):
    """Settings of a target that is not here; libraries read and set them all the same."""

    use_buffer_ops = Flag("AMDGCN_USE_BUFFER_OPS", default=True)
    use_buffer_atomics = Flag("AMDGCN_USE_BUFFER_ATOMICS", default=True)
    dump_amdgcn = Flag("AMDGCN_ENABLE_DUMP")
    libhip_path = Setting("TRITON_LIBHIP_PATH")
    use_in_thread_transpose = Flag("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = Flag("TRITON_HIP_USE_ASYNC_COPY")
    scalarize_packed_fops = Flag("AMDGCN_SCALARIZE_PACKED_FOPS")


class Proton(Group):
    """Settings of the profiler."""

    disable = Flag("TRITON_PROTON_DISABLE")
    cupti_lib_dir = Setting("TRITON_CUPTI_LIB_PATH")
    enable_nvtx = Flag("TRITON_ENABLE_NVTX", default=True)


class CompileTimes(
    namedtuple("CompileTimes", ["ir_initialization", "lowering_stages", "store_results"])
):
    """What a listener is told, in microseconds; the stages as pairs of name and time."""

    __slots__ = ()

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results


build = Build()
redis = Redis()
cache = Cache()
compilation = Compilation()
autotuning = Autotuning()
runtime = Runtime()
language = Language()
nvidia = Nvidia()
amd = Amd()
proton = Proton()

# What the library reads from the environment itself: (group, setting, variable).
_EXPORTED = [
    (cache, "dir", "PANTILE_CACHE_DIR"),
    (nvidia, "libdevice_path", "PANTILE_LIBDEVICE_PATH"),
    (nvidia, "libcuda_path", "PANTILE_LIBCUDA_PATH"),
]


def export():
    """Put settings that are overridden into the environment, where the library reads them."""
    for group, name, variable in _EXPORTED:
        setting = vars(type(group))[name]
        override = group.__dict__.get(name)
        told = override or next((os.environ[n] for n in setting.names if n in os.environ), None)
        if told is not None and os.environ.get(variable) != str(told):
            os.environ[variable] = str(told)


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
