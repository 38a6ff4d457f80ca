"""The kernels of kernels.py on the emulated GPU: what `check run` does on a real one."""

import ctypes
import os
import subprocess

import emulated_device
import numpy as np
from case import NUMPY

SHARED = 200 * 1024
DYNAMIC_SHARED_BYTES = 8  # CUfunction_attribute


def ptx_of(case, tool):
    result = subprocess.run(
        [tool, "--ptx", "-"], input=case.text, capture_output=True, text=True, check=True
    )
    return result.stdout


def launch(library, text, case, arguments):
    """Run the kernel in one CTA; raises RuntimeError with what the emulator says."""
    module, function, message = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char_p()
    values = [ctypes.c_uint64(argument) for argument in arguments]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    failed = (
        library.cuModuleLoadData(ctypes.byref(module), text.encode())
        or library.cuModuleGetFunction(ctypes.byref(function), module, case.name.encode())
        or library.cuFuncSetAttribute(function, DYNAMIC_SHARED_BYTES, SHARED)
        or library.cuLaunchKernel(
            function, 1, 1, 1, 32 * case.warps, 1, 1, SHARED, None, pointers, None
        )
    )
    if failed:
        library.cuGetErrorString(failed, ctypes.byref(message))
        raise RuntimeError(message.value.decode())


def error_of(case, tool):
    """The largest error of a kernel's output, relative to the largest value."""
    library = ctypes.CDLL(os.environ["PANTILE_LIBCUDA_PATH"])
    inputs = case.inputs(np, np.random.default_rng(7))
    shape, element = case.output
    device = emulated_device.EmulatedDevice()
    out = device.to(np.zeros(shape, NUMPY[element]))
    arrays = [device.to(np.asarray(x)) for x in inputs] + [out]
    addresses = [array.data_ptr() for array in arrays] + [0, 0]
    with emulated_device.context(device.index):
        launch(library, ptx_of(case, tool), case, addresses)
    got = device.numpy(out).astype("float64").reshape(-1)
    want = np.asarray(case.expected(np, *inputs)).astype("float64").reshape(-1)
    return np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-9)


def run(tool):
    """1 if a kernel fails, each named; else 0."""
    from kernels import cases

    emulated_device.start()
    failed = total = 0
    for case in cases():
        total += 1
        try:
            error = error_of(case, tool)
        except (RuntimeError, subprocess.CalledProcessError) as problem:
            error = problem
        if isinstance(error, Exception) or not error <= case.tolerance + 1e-12:
            print(f"FAIL {case.name}: {error}")
            failed += 1
    print(f"{total - failed} of {total} kernels agree")
    return min(failed, 1) if total else 1
