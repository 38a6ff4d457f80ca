"""The CPU's half of the compiler, with the interface that libraries use."""

from ..compiler import BaseBackend
from ..options import CUDAOptions, parse_options


class CPUBackend(BaseBackend):
    """Kernels on the interpreter."""

    binary_ext = "ttir"
    instrumentation = None

    @staticmethod
    def supports_target(target):
        return target.backend == "cpu"

    def hash(self):
        from ...runtime.cache import compiler_version

        return f"{compiler_version()}-cpu"

    def parse_options(self, options):
        return parse_options(options, warp_size=1, backend_name="cpu", arch="cpu")


CPUOptions = CUDAOptions
