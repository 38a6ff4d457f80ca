"""The NVIDIA half of the driver, at Triton's import path."""

from ...runtime.driver import CudaDriver, Launcher, _Utilities

CudaUtils = _Utilities
CudaLauncher = Launcher

__all__ = ["CudaDriver", "CudaLauncher", "CudaUtils"]
