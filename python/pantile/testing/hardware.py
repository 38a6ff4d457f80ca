"""What a GPU can reach by its data sheet, its clocks, and running a test under a checker."""

import functools
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

# Operations an SM completes in a cycle on its tensor cores, dense, by operand bits; an
# FMA is two. From NVIDIA's white papers (Volta, Turing, Ampere, Ada, Hopper, Blackwell).
_TENSOR_OPERATIONS = {
    70: {16: 1024},
    75: {16: 1024, 8: 2048},
    80: {32: 1024, 16: 2048, 8: 4096},
    86: {32: 512, 16: 1024, 8: 2048},
    89: {32: 512, 16: 1024, 8: 2048},
    90: {32: 2048, 16: 4096, 8: 8192},
    100: {32: 4096, 16: 8192, 8: 16384},
}
# The same of the ordinary units, in fp32.
_SIMD_OPERATIONS = {70: 128, 75: 128, 80: 128, 86: 256, 89: 256, 90: 256, 100: 256}


def _active():
    from ..runtime.driver import driver

    return driver.active


def _properties(device):
    active = _active()
    return active.utils.get_device_properties(
        active.get_current_device() if device is None else device
    )


def _capability(properties):
    return int("".join(c for c in properties["target"][3:] if c.isdigit()))


def _per_cycle(table, capability):
    known = [arch for arch in table if arch <= capability]
    if not known:
        raise RuntimeError(f"no peak is known for capability {capability}")
    return table[max(known)]


def get_dram_gbps(device=None):
    """Return the peak bandwidth of the device's memory in GB/s.

    Parameters
    ----------
    device : int, optional
        Number of the GPU; None: the current one.
    """
    facts = _properties(device)
    return facts["mem_clock_rate"] * facts["mem_bus_width"] * 2 / 1e6 / 8


def _clock_khz(clock_rate, properties):
    return properties["sm_clock_rate"] if clock_rate is None else clock_rate


def get_max_tensorcore_tflops(dtype, clock_rate=None, device=None):
    """Return the peak of dense dots on tensor cores in TFLOP/s.

    Parameters
    ----------
    dtype : dtype
        Of the operands: torch's, NumPy's or the language's; fp32 means tf32.
    clock_rate : float, optional
        Clock of the SMs in kHz; None: the device's highest.
    device : int, optional
        Number of the GPU; None: the current one.

    Raises
    ------
    RuntimeError
        For a type that the device's tensor cores do not take.
    """
    properties = _properties(device)
    bits = _bits_of(dtype)
    per_cycle = _per_cycle(_TENSOR_OPERATIONS, _capability(properties))
    if bits not in per_cycle:
        raise RuntimeError(f"dtype {dtype} is not supported on the tensor cores of this device")
    cycles = _clock_khz(clock_rate, properties) * 1e3
    return properties["multiprocessor_count"] * per_cycle[bits] * cycles / 1e12


def get_max_simd_tflops(dtype, clock_rate=None, device=None):
    """Return the peak without tensor cores in TFLOP/s.

    Parameters
    ----------
    dtype : dtype
        fp32, fp16 or bf16: torch's, NumPy's or the language's.
    clock_rate : float, optional
        Clock of the SMs in kHz; None: the device's highest.
    device : int, optional
        Number of the GPU; None: the current one.

    Raises
    ------
    RuntimeError
        For another type.
    """
    properties = _properties(device)
    capability = _capability(properties)
    factor = {32: 1, 16: 4 if capability == 80 else 2 if capability < 86 else 1}.get(
        _bits_of(dtype)
    )
    if factor is None:
        raise RuntimeError(f"dtype {dtype} has no peak here")
    operations = _per_cycle(_SIMD_OPERATIONS, capability) * factor
    cycles = _clock_khz(clock_rate, properties) * 1e3
    return properties["multiprocessor_count"] * operations * cycles / 1e12


def _bits_of(dtype):
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if name in ("bfloat16", "bf16"):
        return 16
    if name.startswith(("float8", "fp8")):
        return 8
    return int("".join(c for c in name if c.isdigit()))


def nvsmi(attrs):
    """Return what nvidia-smi says of GPU 0, as a list of int.

    Parameters
    ----------
    attrs : list of str
        Names of numbers that `nvidia-smi --query-gpu` has, such as "clocks.sm" (MHz).
    """
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attrs)}"]
    text = subprocess.check_output([*command, "--format=csv,noheader,nounits"], text=True)
    return [int(value) for value in text.strip().split(",")]


@contextmanager
def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    """Fix the clocks of GPU 0 within a `with` block; gives (peak TFLOP/s in fp16, peak GB/s) at them.

    Parameters
    ----------
    ref_sm_clock : int, default 1350
        Clock of the SMs in MHz.
    ref_mem_clock : int, default 1215
        Clock of the memory in MHz.
    """
    smi = ["nvidia-smi", "-i", "0"]
    try:
        subprocess.check_output([*smi, "-pm", "1"])
        subprocess.check_output([*smi, f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}"])
        subprocess.check_output([*smi, f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}"])
        peak = get_max_tensorcore_tflops("float16", ref_sm_clock * 1e3)
        width = _properties(None)["mem_bus_width"]
        yield peak, ref_mem_clock * 1e3 * width * 2 / 1e6 / 8
    finally:
        for option in ("-pm 0", "-rgc", "-rmc"):
            subprocess.call([*smi, *option.split()], stdout=subprocess.DEVNULL)


def cuda_memcheck(**target_kwargs):
    """Decorate a test: with these arguments it runs in a process under compute-sanitizer.

    Where that program is not installed the test runs as it is. AssertionError where it finds errors.

    Parameters
    ----------
    target_kwargs : by keyword
        Values of the test's parameters that choose what is run so; the test has the fixture `request`.
    """

    def decorate(test):
        @functools.wraps(test)
        def wrapper(*args, **kwargs):
            matches = all(kwargs.get(name) == value for name, value in target_kwargs.items())
            sanitizer = shutil.which("compute-sanitizer")
            if not matches or sanitizer is None or os.environ.get("PANTILE_MEMCHECK") == "1":
                return test(*args, **kwargs)
            request = kwargs["request"]
            node = f"{request.node.fspath}::{request.node.name}"
            environment = {
                **os.environ,
                "PANTILE_MEMCHECK": "1",
                "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
            }
            command = [sanitizer, sys.executable, "-m", "pytest", "-vsx", node]
            done = subprocess.run(command, capture_output=True, env=environment)
            assert done.returncode == 0, "compute-sanitizer's run of the test failed"
            assert b"ERROR SUMMARY: 0 errors" in done.stdout, done.stdout.decode()

        return wrapper

    return decorate
