"""The NVIDIA half of the compiler, with the interface that libraries use."""

from ... import knobs
from ...runtime.errors import PTXASError
from ..compiler import BaseBackend, GPUTarget, Language
from ..options import CUDAOptions, parse_options

__all__ = [
    "CUDABackend",
    "CUDAOptions",
    "GPUTarget",
    "Language",
    "PTXASError",
    "get_ptxas_version",
    "get_ptx_version_from_options",
    "get_ptxas",
    "sm_arch_from_capability",
]


def sm_arch_from_capability(capability):
    """Return "sm_90a" for 90: the architecture with its own instructions from 90 on."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


def get_ptxas(arch=None):
    """Return (path, version) of the assembler in use, as far as it is a program."""
    tool = knobs.nvidia.ptxas
    return tool.path, tool.version


def get_ptxas_version(arch=None):
    """Return what the assembler says of its version, as text."""
    import subprocess

    return subprocess.check_output([get_ptxas(arch)[0], "--version"], text=True)


def get_ptx_version_from_options(options, arch=None):
    """Return the requested PTX version, or None for the compiler's choice."""
    return options.ptx_version


def min_dot_size(target):
    """Return a function of two operand types that gives the smallest (M, N, K) of a dot."""

    def smallest(lhs, rhs):
        bits = lhs.scalar.primitive_bitwidth
        return (1, 1, 32 if bits == 8 else 16)

    return smallest


class CUDABackend(BaseBackend):
    """Kernels as cubins."""

    binary_ext = "cubin"
    instrumentation = None

    @staticmethod
    def supports_target(target):
        return target.backend == "cuda"

    def _parse_arch(self, arch):
        return int("".join(c for c in str(arch).rpartition("sm")[2] if c.isdigit()))

    def get_target_name(self, options):
        return f"cuda:{self._parse_arch(options.arch or self.target.arch)}"

    def parse_options(self, opts):
        arch = opts.get("arch") or knobs.runtime.override_arch or f"sm{self.target.arch}"
        fixed = {
            "arch": arch,
            "max_num_imprecise_acc_default": 2**30 if self.target.arch == 90 else 0,
        }
        if self.target.arch < 89:
            fixed["supported_fp8_dtypes"] = ("fp8e5", "fp8e4b15")
        if self.target.arch >= 90:
            fixed["deprecated_fp8_dot_operand_dtypes"] = ("fp8e4b15",)
        return parse_options(opts, **fixed)

    def hash(self):
        from ...runtime.cache import compiler_version

        return f"{compiler_version()}-{self.target.arch}"

    def load_dialects(self, ctx):
        """Do nothing: the compiler's dialects are compiled in."""

    def get_codegen_implementation(self, options):
        return {"min_dot_size": min_dot_size(self.target)}
