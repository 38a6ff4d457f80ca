"""The device at hand, in the words of Triton's `runtime.driver`.

Where torch is loaded it decides which device and stream are current; a machine without a GPU is
the device "cpu".
"""

import functools
import sys

from ..backends.compiler import GPUTarget
from ..backends.driver import DriverBase

_CACHE_BYTES = 256 * 1024 * 1024


class _Utilities:
    """Facts about a device, and loading machine code, as `driver.active.utils` gives them."""

    @staticmethod
    @functools.cache
    def get_device_properties(device=0):
        from .. import _pantile

        return _pantile.device_info(device)

    @staticmethod
    def load_binary(name, cubin, shared, device):
        """Load a cubin: (module, function, registers, spilled registers, most threads of a CTA)."""
        from ..backends.nvidia.libcuda import Libcuda

        return Libcuda.of_process().load(name, cubin, shared, device)

    @staticmethod
    def facts_of_function(function, device):
        """Of a CUfunction: registers, spilled registers, most threads of a CTA."""
        from ..backends.nvidia.libcuda import Libcuda

        return Libcuda.of_process().facts_of(function, device)

    @staticmethod
    def unload_module(module):
        from ..backends.nvidia.libcuda import Libcuda

        Libcuda.of_process().unload(module)

    @staticmethod
    def cuOccupancyMaxActiveClusters(function, shared, cluster_x, cluster_y, cluster_z):
        """Return how many clusters of 128 threads a CTA run at once."""
        from ..backends.nvidia.libcuda import Libcuda

        return Libcuda.of_process().active_clusters(
            function, shared, (cluster_x, cluster_y, cluster_z)
        )

    @staticmethod
    def set_printf_fifo_size(size):
        """Set the bytes of the buffer that `tl.device_print` writes to."""
        from ..backends.nvidia.libcuda import Libcuda

        Libcuda.of_process().set_printf_size(size)

    @staticmethod
    def fill_tma_descriptor(*_):
        raise NotImplementedError(
            "descriptors are made from `triton.tools.tensor_descriptor.TensorDescriptor`"
        )

    fill_1d_tma_descriptor = fill_2d_tma_descriptor = fill_tma_descriptor


class Launcher:
    """What `driver.active.launcher_cls(src, metadata)` makes: a caller of a kernel's `run`."""

    def __init__(self, src, metadata):
        self.src, self.metadata = src, metadata

    def __call__(self, *args):
        from ..compiler.compiler import compile

        options = {
            name: value
            for name, value in self.metadata._asdict().items()
            if name in ("num_warps", "num_stages", "maxnreg", "enable_fp_fusion", "debug")
        }
        compile(self.src, self.metadata.target, options).run(*args)


class Driver(DriverBase):
    """The GPU if there is one, else the CPU."""

    utils = _Utilities()
    launcher_cls = Launcher

    @functools.cached_property
    def device_count(self):
        """How many GPUs the process sees."""
        from .. import _pantile

        return _pantile.device_count()

    @classmethod
    def is_active(cls):
        """Return whether there is a GPU; a method of the class, too, before there is a driver.

        What torch says counts too: it finds the GPUs in processes that were forked from one that
        had initialised CUDA, as Inductor's workers are, which compile and never launch.
        """
        from .. import _pantile

        torch = sys.modules.get("torch")
        return _pantile.device_count() > 0 or (
            torch is not None and torch.cuda.is_available() and torch.version.hip is None
        )

    def get_current_target(self):
        """Return the GPUTarget of the current GPU, or that of the CPU."""
        return self._target_of(self.get_current_device())

    def _target_of(self, device):
        if not self.device_count:
            return GPUTarget("cpu", "cpu", 1)
        target = self.utils.get_device_properties(device)["target"]
        return GPUTarget("cuda", int("".join(c for c in target[3:] if c.isdigit())), 32)

    def get_current_device(self):
        """Return the number of the current GPU; 0 without one."""
        from .. import _pantile

        return _pantile.current_device() if self.device_count else 0

    def set_current_device(self, device):
        """Make a GPU, by its number, the current one of torch."""
        if self.device_count:
            import torch

            torch.cuda.set_device(device)

    def get_current_stream(self, device=None):
        """Return the CUstream, an int, that launches go to: torch's or CuPy's current one."""
        if not self.device_count:
            return 0
        from .. import _pantile

        return _pantile.current_stream(self.get_current_device() if device is None else device)

    def get_device_capability(self, device=None):
        """Return (major, minor) of a GPU, by default the current one; (0, 0) without one."""
        arch = self._target_of(self.get_current_device() if device is None else device).arch
        return (0, 0) if isinstance(arch, str) else divmod(arch, 10)

    def get_active_torch_device(self):
        """Return the torch.device of the current GPU, or that of the CPU."""
        import torch

        return (
            torch.device("cuda", self.get_current_device())
            if self.device_count
            else torch.device("cpu")
        )

    def get_device_interface(self):
        """Return `torch.cuda`, or `torch.cpu` without a GPU."""
        import torch

        return torch.cuda if self.device_count else torch.cpu

    def get_empty_cache_for_benchmark(self):
        """Return a tensor larger than the L2 cache, for `clear_cache`."""
        import torch

        return torch.empty(
            _CACHE_BYTES // 4, dtype=torch.int32, device=self.get_active_torch_device()
        )

    def clear_cache(self, cache):
        """Overwrite that tensor, so that nothing else is in the L2 cache."""
        cache.zero_()

    def synchronize(self):
        """Wait for the device; nothing to wait for on the CPU, where launches return when done."""
        if not self.device_count:
            return
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.synchronize()
            return
        from .. import _pantile

        _pantile.synchronize(self.get_current_device())


class CudaDriver(Driver):
    """The GPU."""


class CpuDriver(Driver):
    """The CPU, also where there is a GPU."""

    device_count = 0

    @classmethod
    def is_active(cls):
        """Return False: launches on the CPU need no driver."""
        return False


class DriverConfig:
    """`active` is the driver in use, `default` the one of this machine."""

    def __init__(self):
        self._default = None
        self._active = None

    @property
    def default(self):
        """The driver of this machine."""
        if self._default is None:
            self._default = Driver()
        return self._default

    @property
    def active(self):
        """The driver in use."""
        return self._active or self.default

    def set_active(self, driver):
        """Have `active` be another driver: it answers questions; launches go by their arguments."""
        self._active = driver

    def reset_active(self):
        """Use the driver of this machine again."""
        self._active = None


driver = DriverConfig()


def __getattr__(name):
    # `import triton.runtime.driver` gives this module to some callers and the object to others.
    if name in ("active", "default", "set_active", "reset_active"):
        return getattr(driver, name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
