"""The device at hand, in the words of Triton's `runtime.driver`.

Where torch is loaded it decides which device and stream are current; a machine without a GPU is the device "cpu".
"""

import functools
import sys
from types import SimpleNamespace

from ..backends.compiler import GPUTarget


class _Utilities:
    """Facts about a device by name, as `driver.active.utils` gives them."""

    @staticmethod
    @functools.cache
    def get_device_properties(device=0):
        from .. import _pantile

        return _pantile.device_info(device)


class Driver:
    """The GPU if there is one, else the CPU."""

    utils = _Utilities()

    @functools.cached_property
    def device_count(self):
        from .. import _pantile

        return _pantile.device_count()

    def is_active(self):
        return self.device_count > 0

    def get_current_target(self):
        if not self.device_count:
            return GPUTarget("cpu", "cpu", 1)
        target = self.utils.get_device_properties(self.get_current_device())["target"]
        return GPUTarget("cuda", int("".join(c for c in target[3:] if c.isdigit())), 32)

    def get_current_device(self):
        from .. import _pantile

        return _pantile.current_device() if self.device_count else 0

    def get_current_stream(self, device=None):
        from .. import _pantile

        return _pantile.current_stream(self.get_current_device() if device is None else device)

    def get_active_torch_device(self):
        import torch

        return (
            torch.device("cuda", self.get_current_device())
            if self.device_count
            else torch.device("cpu")
        )

    def get_device_interface(self):
        import torch

        return torch.cuda if self.device_count else torch.cpu

    def get_benchmarker(self):
        from ..testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        import torch

        return torch.empty(
            256 * 1024 * 1024, dtype=torch.int8, device=self.get_active_torch_device()
        )

    def clear_cache(self, cache):
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


driver = SimpleNamespace(active=Driver(), default=None)
driver.default = driver.active
active = driver.active
