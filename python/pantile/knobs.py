"""Settings from the environment, read when asked for, and the hooks of launches.

Each setting has a name of ours (`PANTILE_...`) and, where Triton has one, Triton's (`TRITON_...`).
"""

import os


def flag(*names, default=False):
    """Return whether one of the environment variables `names` is set to a true value."""
    for name in names:
        value = os.environ.get(name)
        if value is not None:
            return value.lower() in ("1", "true", "on", "yes", "y")
    return default


class HookChain:
    """Functions that are all called in the order in which they were added."""

    def __init__(self):
        self.calls = []

    def add(self, function):
        if function not in self.calls:
            self.calls.append(function)

    def remove(self, function):
        if function in self.calls:
            self.calls.remove(function)

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kwargs):
        for function in self.calls:
            function(*args, **kwargs)


class _Runtime:
    """Hooks around launches and compilations."""

    def __init__(self):
        self.launch_enter_hook = HookChain()
        self.launch_exit_hook = HookChain()
        self.jit_cache_hook = None
        self.jit_post_compile_hook = None

    @property
    def debug(self):
        return flag("PANTILE_DEVICE_ASSERTS", "TRITON_DEBUG")


class _Autotuning:
    """How the tuner behaves."""

    @property
    def print(self):
        return flag("PANTILE_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING")

    @property
    def tune_cpu(self):
        return flag("PANTILE_TUNE_CPU")


class _Compilation:
    """How kernels are compiled."""

    @property
    def allow_non_constexpr_globals(self):
        return flag("PANTILE_ALLOW_NON_CONSTEXPR_GLOBALS", "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")

    @property
    def disable_line_info(self):
        return flag("PANTILE_DISABLE_LINE_INFO", "TRITON_DISABLE_LINE_INFO")

    @property
    def dump_dir(self):
        return os.environ.get("PANTILE_DUMP_DIR", "")


class _Language:
    """Defaults of the language."""

    @property
    def fp32_default(self):
        return os.environ.get("PANTILE_F32_DEFAULT") or os.environ.get("TRITON_F32_DEFAULT")

    @property
    def default_fp_fusion(self):
        return flag("PANTILE_DEFAULT_FP_FUSION", "TRITON_DEFAULT_FP_FUSION", default=True)


runtime = _Runtime()
autotuning = _Autotuning()
compilation = _Compilation()
language = _Language()
