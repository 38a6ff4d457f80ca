"""A million launches and thousands of compilations, and what they leave in memory.

Launches go through tuple grids, callable grids and new pointers; every compilation is of a kernel
of its own, launched once and dropped. Host memory, device memory and the files that the process
holds open must not grow. Ends with status 1 if they do.

Usage: soak.py [--launches 1000000] [--compiles 5000] [--seconds 60] [--device cuda]
"""

import argparse
import gc
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl


@triton.jit
def add_kernel(out_ptr, x_ptr, n, value, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + value, mask=offsets < n)


TEXT = """
import pantile as triton
import pantile.language as tl

@triton.jit
def dropped_kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.arange(0, N) + {number})
"""


class Arrays:
    """NumPy arrays on the host, torch's on a GPU."""

    def __init__(self, device):
        self.torch = None
        if device == "cuda":
            import torch

            self.torch = torch

    def make(self, values):
        values = np.asarray(values, np.float32)
        return self.torch.from_numpy(values).cuda() if self.torch else values

    def numpy(self, array):
        return array.cpu().numpy() if self.torch else array

    def wait(self):
        if self.torch:
            self.torch.cuda.synchronize()

    def held(self):
        """MB of the host, MB of the device, open files."""
        gc.collect()
        self.wait()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        used = 0
        if self.torch:
            free, total = self.torch.cuda.mem_get_info()
            used = (total - free) >> 20
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20, used, len(os.listdir("/proc/self/fd"))


def launch_many(arrays, count, deadline):
    """Launch until `count` or the deadline; every 1000th result is compared."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((16, 300), dtype=np.float32)
    sets = [(arrays.make(np.zeros(300)), arrays.make(row)) for row in values]
    grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)  # noqa: E731
    for number in range(count):
        out, x = sets[number % 16]
        add_kernel[(5,) if number % 3 else grid](out, x, 300, float(number % 977), BLOCK=64)
        if number % 1000 == 999:
            expected = values[number % 16] + np.float32(number % 977)
            np.testing.assert_allclose(arrays.numpy(out), expected, rtol=1e-6)
            if time.monotonic() > deadline:
                return number + 1
    return count


def compile_many(arrays, start, count, folder, deadline):
    """Compile kernels of different source and drop them."""
    for number in range(start, start + count):
        path = Path(folder) / f"dropped{number % 50}.py"
        path.write_text(TEXT.format(number=number), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"dropped{number}", path)
        module = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode = True
        __import__("linecache").clearcache()
        spec.loader.exec_module(module)
        out = arrays.make(np.zeros(32))
        module.dropped_kernel[(1,)](out, 32)
        if number % 100 == 0:
            np.testing.assert_array_equal(arrays.numpy(out), np.arange(32) + number)
        if time.monotonic() > deadline:
            return number - start + 1
    return count


def main():
    """Warm up, note what is held, work, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--compiles", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=60, help="for each of the two")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    arguments = parser.parse_args()
    os.environ.setdefault("PANTILE_CACHE_DIR", tempfile.mkdtemp())
    os.environ.setdefault("PANTILE_CACHE_SIZE", "16M")
    arrays = Arrays(arguments.device)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for what, work, warm in (
            ("launches", lambda n, end: launch_many(arrays, n, end), arguments.launches // 10),
            ("compiles", lambda n, end: compile_many(arrays, done, n, folder, end), 300),
        ):
            count, done = getattr(arguments, what), 0
            deadline = time.monotonic() + arguments.seconds
            done = work(min(warm, count), deadline)
            before, start = arrays.held(), time.monotonic()
            made = work(count - done, deadline)
            after, seconds = arrays.held(), time.monotonic() - start
            growth = [now - then for now, then in zip(after, before)]
            print(
                f"{what}: {done + made} ({1e6 * seconds / max(made, 1):.1f} us each); growth after "
                f"{done}: {growth[0]} MB host, {growth[1]} MB device, {growth[2]} files; held {after}",
                flush=True,
            )
            failed |= growth[0] > 24 or growth[1] > 16 or growth[2] > 2
    print(triton.runtime.stats())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
