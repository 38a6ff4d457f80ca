"""What the package adds to the start of a process: its import, and the first result of a kernel.

Each measurement is a fresh process; those with and without the package are interleaved. The kernel is in
the cache on disk. Milliseconds of wall time, medians; and of processor time, which a busy machine
keeps too.

Usage: startup.py [--rounds 15] [--device cuda]
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KERNEL = """
import numpy as np
import pantile as triton
import pantile.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside) + tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x, mask=inside)

x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
"""
ON_HOST = "add_kernel[(8,)](x, x, out, 1000, BLOCK=128)\n"
CHECK = "assert (out == 2 * x).all()\n"
# Without torch: the driver's start is in both processes of a pair.
DRIVER = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
memory = ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), 16384) == 0
assert cuda.cuMemsetD32_v2(ctypes.c_uint64(memory.value), 0x3F800000, 1000) == 0
"""
ON_GPU = """
class Memory:
    def __init__(self, address):
        self.address = address

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.address, False), "typestr": "<f4", "shape": (1000,), "version": 3}

a, b = Memory(memory.value), Memory(memory.value + 4096)
add_kernel[(8,)](a, a, b, 1000, BLOCK=128)
assert cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(b.address), 4000) == 0
assert (out == 2).all()
"""


def pairs(folder, device):
    """(name, goal, program without the package, program with it)."""
    with_kernel = Path(folder) / "with_kernel.py"
    numpy_alone = "import numpy as np\nx = np.arange(1000, dtype=np.float32)\nout = x + x\n"
    if device == "cuda":
        with_kernel.write_text("import numpy as np\n" + DRIVER + KERNEL + ON_GPU)
        numpy_alone += DRIVER
    else:
        with_kernel.write_text(KERNEL + ON_HOST + CHECK)
    numpy_path = Path(folder) / "numpy_alone.py"
    numpy_path.write_text(numpy_alone)
    return [
        ("import pantile", 50, ["-c", "pass"], ["-c", "import pantile"]),
        ("first result, cached", 60, [str(numpy_path)], [str(with_kernel)]),
    ]


def processor_time():
    """Seconds that the processes run so far have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(arguments, environment):
    """Milliseconds of wall time and of processor time."""
    start, used = time.perf_counter(), processor_time()
    subprocess.run([sys.executable, *arguments], check=True, env=environment)
    return 1e3 * (time.perf_counter() - start), 1e3 * (processor_time() - used)


def main():
    """Measure both, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PANTILE_CACHE_DIR": folder}
        # Byte code is kept, as of an installed package, also where this process keeps none.
        environment["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "byte-code")
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name, goal, without, with_package in pairs(folder, arguments.device):
            times = {"without": [], "with": []}
            for number in range(arguments.rounds + 1):
                for which, program in (("without", without), ("with", with_package)):
                    measured = run(program, environment)
                    if number:
                        times[which].append(measured)
            (bare, bare_cpu), (ours, ours_cpu) = (
                map(statistics.median, zip(*times[which])) for which in ("without", "with")
            )
            print(
                f"{name:22} without {bare:6.1f} ms, with {ours:6.1f} ms: adds {ours - bare:5.1f} ms"
                f" (goal: at most {goal}), {ours_cpu - bare_cpu:5.1f} ms of processor time",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
