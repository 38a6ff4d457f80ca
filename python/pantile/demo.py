"""`python -m pantile.demo`: the tutorial's GEMM against NumPy, on the GPU if there is one."""

import argparse
import importlib.util
import math
import sys
import time
from pathlib import Path

import numpy as np

import pantile


def _load_tutorial(folder):
    path = Path(folder) / "03-matrix-multiplication.py"
    spec = importlib.util.spec_from_file_location("matmul_tutorial", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _device_name(on_gpu):
    if on_gpu:
        return pantile.runtime.driver.active.utils.get_device_properties(0)["name"]
    for line in (
        Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ()
    ):
        if line.startswith("model name"):
            return "CPU, " + line.partition(":")[2].strip()
    return "CPU"


def _timed(run, synchronize):
    start = time.perf_counter()
    result = run()
    synchronize()
    return result, (time.perf_counter() - start) * 1e3


def main():
    """Run, compare and print; exit status 1 if the numbers are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tutorials", default=Path(__file__).resolve().parents[2] / "tutorials")
    parser.add_argument("--size", type=int, default=512)
    options = parser.parse_args()
    tutorial = _load_tutorial(options.tutorials)
    size, on_gpu = options.size, tutorial.ON_GPU
    a, b = tutorial.random_matrix(size, size, seed=0), tutorial.random_matrix(size, size, seed=1)
    synchronize = pantile.runtime.driver.active.synchronize if on_gpu else lambda: None
    _, first = _timed(lambda: tutorial.matmul(a, b), synchronize)
    ours, again = _timed(lambda: tutorial.matmul(a, b), synchronize)
    as_numpy = (lambda x: x.cpu().numpy()) if on_gpu else (lambda x: x)
    ours, a, b = as_numpy(ours), as_numpy(a), as_numpy(b)
    reference, numpy_ms = _timed(lambda: a.astype(np.float64) @ b.astype(np.float64), lambda: None)
    error = np.abs(ours.astype(np.float64) - reference)
    # 1e-3 |R| for the rounding to fp16, 1e-4 sqrt(K) for that of the sums.
    allowed = 1e-3 * np.abs(reference) + 1e-4 * math.sqrt(size)
    good = bool((error <= allowed).all())
    print(f"C = A B, {size} x {size} x {size}, fp16, accumulated in fp32")
    print(f"device        {_device_name(on_gpu)}")
    print(f"ours          {ours[0, :4]} ...")
    print(f"NumPy         {reference[0, :4].astype(np.float16)} ...")
    print(
        f"largest error {error.max():.2e} ({'within' if good else 'NOT within'} 1e-3 |R| + 1e-4 sqrt(K))"
    )
    print(
        f"time          {first:.1f} ms with compilation, {again:.2f} ms again; NumPy in float64 {numpy_ms:.1f} ms"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
