"""The NVIDIA half of the driver, at Triton's import path."""

from ...runtime.device import Utilities as CudaUtils
from ...runtime.driver import CudaDriver, Launcher
from ..target import GPUTarget

CudaLauncher = Launcher

GPUDriver = CudaDriver

__all__ = ["CudaDriver", "CudaLauncher", "CudaUtils", "GPUDriver", "GPUTarget"]
