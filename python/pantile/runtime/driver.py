"""The device at hand, in the words of Triton's `runtime.driver`."""

from ..backends.driver import DriverBase
from .device import Device, driver_that_was_set, set_device, set_driver


class Launcher:
    """What `driver.active.launcher_cls(src, metadata)` makes: a caller of a kernel's `run`."""

    def __init__(self, src, metadata):
        self.src, self.metadata = src, metadata

    def __call__(self, *args):
        from ..compiler.ahead_of_time import compile

        options = {
            name: value
            for name, value in self.metadata._asdict().items()
            if name in ("num_warps", "num_stages", "maxnreg", "enable_fp_fusion", "debug")
        }
        compile(self.src, self.metadata.target, options).run(*args)


class Driver(Device, DriverBase):
    """The GPU if there is one, else the CPU."""

    launcher_cls = Launcher


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

    @property
    def driver(self):
        """The object itself: `pantile.runtime.driver` is it to some callers, to others its module."""
        return self

    @property
    def default(self):
        """The driver of this machine."""
        if self._default is None:
            self._default = Driver()
            set_device(self._default)
        return self._default

    @property
    def active(self):
        """The driver in use."""
        return driver_that_was_set() or self.default

    def set_active(self, driver):
        """Have `active` be another driver: it answers questions; launches go by their arguments."""
        set_driver(driver)

    def reset_active(self):
        """Use the driver of this machine again."""
        set_driver(None)


driver = DriverConfig()


def __getattr__(name):
    # `import triton.runtime.driver` gives this module to some callers and the object to others.
    if name in ("active", "default", "set_active", "reset_active"):
        return getattr(driver, name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
