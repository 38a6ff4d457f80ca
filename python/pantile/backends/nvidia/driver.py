"""The NVIDIA half of the driver, at Triton's import path."""

from ...backends.compiler import GPUTarget
from ...runtime.driver import CudaDriver, Launcher, _Utilities

CudaUtils = _Utilities
CudaLauncher = Launcher

GPUDriver = CudaDriver

__all__ = ["CudaDriver", "CudaLauncher", "CudaUtils", "GPUDriver", "GPUTarget"]
