"""What a warm launch costs the host: ours and Triton's relative to the driver's own call.

The bare launch is a loop in C around cuLaunchKernelEx with the same kernel and parameters, in the
same process. Kernels do nothing, or next to nothing; the queue is drained after every 256 launches,
outside of the clock. The contestants' batches are interleaved; the table has medians.

Usage: launch.py [--batches 50] [--launches 256] [--json FILE]
"""

import argparse
import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import launch_kernels
import torch

SETS = 16  # of arrays, so that pointers change from launch to launch


class Bare:
    """The driver's call, from C."""

    def __init__(self):
        folder = tempfile.mkdtemp()
        library = Path(folder) / "bare_launch.so"
        compiler = shutil.which("cc") or shutil.which("gcc")
        source = Path(__file__).with_name("bare_launch.c")
        command = [compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
        subprocess.run(command, check=True)
        self._call = ctypes.CDLL(str(library)).bare_launch
        self._call.restype = ctypes.c_double

    def contestant(self, compiled, values, maps=0):
        """A batch of bare launches of a compiled kernel; `values` are its run-time arguments."""
        slots = [_slot(value) for value in values] + [ctypes.c_uint64(0), ctypes.c_uint64(0)]
        # What a map says means nothing to a kernel that ends before it uses it.
        buffers = [ctypes.create_string_buffer(192) for _ in range(maps)]
        addresses = [ctypes.addressof(slot) for slot in slots]
        addresses += [(ctypes.addressof(buffer) + 63) // 64 * 64 for buffer in buffers]
        # A persistent kernel takes the grid in addition.
        extents = [ctypes.c_int32(1) for _ in range(3)]
        addresses += [ctypes.addressof(extent) for extent in extents]
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        function = ctypes.c_void_p(compiled.function)
        threads = 32 * compiled.metadata.num_warps
        shared = compiled.metadata.shared
        keep = (slots, buffers, extents)

        def batch(count):
            assert keep
            nanoseconds = self._call(
                function, threads, shared, ctypes.c_void_p(0), parameters, count
            )
            if nanoseconds < 0:
                raise RuntimeError(f"the driver refuses the bare launch: {-nanoseconds:.0f}")
            return nanoseconds

        return batch


def _slot(value):
    if isinstance(value, torch.Tensor):
        return ctypes.c_uint64(value.data_ptr())
    if isinstance(value, float):
        return ctypes.c_float(value)
    return ctypes.c_int64(value)


def timed(loop, sets):
    """A batch of a loop over argument sets."""

    def batch(count):
        rounds = count // len(sets)
        start = time.perf_counter()
        loop(rounds, sets)
        return 1e9 * (time.perf_counter() - start) / (rounds * len(sets))

    return batch


def measure(contestants, arguments):
    """Nanoseconds of one launch by contestant: medians of batches that alternate."""
    for batch in contestants.values():
        batch(arguments.launches)
    torch.cuda.synchronize()
    times = {name: [] for name in contestants}
    for number in range(arguments.batches):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            times[name].append(contestants[name](arguments.launches))
            torch.cuda.synchronize()
    return {name: statistics.median(values) for name, values in times.items()}


def rows(arguments):
    """Each kind of launch: (name, goal, contestants)."""
    bare = Bare()
    for name, goal, make in launch_kernels.CASES:
        contestants = {}
        for package in PACKAGES:
            try:
                made = make(PACKAGES[package], SETS)
                if package == "pantile":
                    contestants["bare"] = bare.contestant(made.compiled, made.values, made.maps)
                contestants[package] = timed(made.loop, made.sets)
                if made.callable_loop:
                    contestants[f"{package}, callable"] = timed(made.callable_loop, made.sets)
            except Exception as error:
                print(f"{name}: {package}: {type(error).__name__}: {error}"[:400])
        try:
            yield name, goal, measure(contestants, arguments)
        except RuntimeError as error:
            print(f"{name}: {error}")


def main():
    """Measure every kind of launch, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--launches", type=int, default=256)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    print(f"=== table: warm launches, ns of host time, {torch.cuda.get_device_name()}")
    results = {}
    for name, goal, medians in rows(arguments):
        results[name] = medians
        bare = medians.get("bare", float("nan"))
        told = "  ".join(f"{who} {ns:.0f} ({ns / bare:.2f}x)" for who, ns in medians.items())
        print(f"{name:26} goal {goal:.1f}x  {told}", flush=True)
    if "pantile" in PACKAGES:
        print(PACKAGES["pantile"].runtime.stats())
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))
    return 0


PACKAGES = {}
if __name__ == "__main__":
    import importlib

    for package in ("pantile", "triton"):
        try:
            PACKAGES[package] = importlib.import_module(package)
        except ImportError as missing:
            print(f"without {package}: {missing}")
    sys.exit(main())
