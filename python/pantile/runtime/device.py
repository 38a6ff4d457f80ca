"""The device at hand: which one is current, its target and its streams.

Where torch is loaded it decides which device and stream are current; a machine without a GPU is
the device "cpu". What asks is below Triton's drivers, which `runtime.driver` has; a driver that a
program sets answers in the place of the machine's own.
"""

import functools
import sys

from ..backends.target import GPUTarget

_CACHE_BYTES = 256 * 1024 * 1024


class Utilities:
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


class Device:
    """The GPU if there is one, else the CPU: what is asked of it."""

    utils = Utilities()

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


class _Selection:
    """The driver that a program set, or else the device of this machine."""

    def __init__(self):
        self.driver = None
        self.device = Device()


_selection = _Selection()


def active_device():
    """Return what answers for the device: the driver in use, or the machine's own Device.

    Where `runtime.driver` is loaded it says which driver that is: programs replace its `active`, or
    the object that has it.
    """
    facade = sys.modules.get("pantile.runtime.driver")
    config = getattr(facade, "driver", None)
    return _selection.driver or _selection.device if config is None else config.active


def set_driver(driver):
    """Have a driver answer for the device; None: this machine's."""
    _selection.driver = driver


def set_device(device):
    """Have a Device answer for this machine where no driver was set: a driver made for it."""
    _selection.device = device


def driver_that_was_set():
    """Return the driver that a program set; None if it set none."""
    return _selection.driver
