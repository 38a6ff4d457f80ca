"""Time from the kernel's source to machine code, ours and Triton's, in fresh processes.

Each measurement is a process of its own with an empty cache. Before the clock starts the process
has imported torch and the package, has a CUDA context, and has launched an empty kernel, so that
only the compilation of the GEMM is timed. Ours and Triton's are interleaved.

Usage: cold_compile.py [--rounds 5] [--block 128 256 64] [--stages 3] [--warps 8]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGES = ("pantile", "triton")


def compile_once(package, arguments):
    """In the child: milliseconds of one compilation, and of its stages where these are reported."""
    import kernels
    import torch

    module = kernels.load(package)
    a = torch.zeros(512, 512, dtype=torch.float16, device="cuda")
    module.empty_kernel[(1,)](a)
    stages = triton_stages() if package == "triton" else []
    m, n, k = arguments.block
    constants = {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}
    options = {"num_stages": arguments.stages, "num_warps": arguments.warps}
    torch.cuda.synchronize()
    start = time.perf_counter()
    kernel = module.matmul_kernel.warmup(
        *module.matmul_arguments(a, a, a), ACTIVATION="", grid=(1,), **constants, **options
    )
    total = 1e3 * (time.perf_counter() - start)
    if package == "pantile":
        stages = [list(stage) for stage in kernel.timings.items()]
    return {"total": total, "stages": stages}


def triton_stages():
    """A list that Triton's listener fills with the stages of the compilations to come."""
    from triton import knobs

    stages = []

    def listener(*, times, **_):
        stages.clear()
        stages.append(["front end", times.ir_initialization / 1e3])
        stages.extend([name, micros / 1e3] for name, micros in times.lowering_stages)

    knobs.compilation.listener = listener
    return stages


def run_child(package):
    """Start a process with empty caches and read its measurement."""
    with tempfile.TemporaryDirectory() as cache:
        caches = {"PANTILE_CACHE_DIR": cache, "TRITON_CACHE_DIR": cache}
        command = [sys.executable, __file__, *sys.argv[1:], "--child", package]
        child = subprocess.run(
            command, env={**os.environ, **caches}, capture_output=True, text=True
        )
    if child.returncode != 0:
        print(child.stdout, child.stderr, sep="\n")
        return None
    return json.loads(child.stdout.splitlines()[-1])


def print_table(results):
    """Medians of the totals, and of each stage."""
    print("=== table: cold compile to cubin, ms, medians of fresh processes")
    medians = {}
    for package, measured in results.items():
        if not measured:
            print(f"{package:8} failed")
            continue
        medians[package] = statistics.median(one["total"] for one in measured)
        stages = {}
        for one in measured:
            for name, milliseconds in one["stages"]:
                stages.setdefault(name, []).append(milliseconds)
        told = ", ".join(f"{name} {statistics.median(ms):.1f}" for name, ms in stages.items())
        print(f"{package:8} {medians[package]:7.1f}  ({told})")
    if len(medians) == 2:
        print(f"ours / Triton: {medians['pantile'] / medians['triton']:.2f} (aim: at most 0.45)")


def main():
    """Alternate the children, or be one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--block", type=int, nargs=3, default=[128, 256, 64])
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--warps", type=int, default=8)
    parser.add_argument("--child", choices=PACKAGES)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(compile_once(arguments.child, arguments)))
        return 0
    results = {package: [] for package in PACKAGES}
    for number in range(arguments.rounds):
        for package in PACKAGES if number % 2 == 0 else reversed(PACKAGES):
            measurement = run_child(package)
            if measurement:
                results[package].append(measurement)
    print_table(results)
    return 0 if results["pantile"] else 1


if __name__ == "__main__":
    sys.exit(main())
