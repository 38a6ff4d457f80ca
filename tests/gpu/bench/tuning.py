"""Tuning from cold: the tutorial's GEMM over its ten configurations, ours and Triton's, in fresh processes.

A process imports torch and the package, has a CUDA context, and has launched an empty kernel before
the clock starts; its caches are empty. Then the choice is checked: `do_bench(rep=100)` measures every
configuration by itself, and the time of the chosen one is compared with the best. At last a process
with the caches of one before it is started: it must compile nothing.

Usage: tuning.py [--rounds 3] [--size 2048]
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


def tune_once(package, size, check):
    """In the child: seconds of the first launch, the choice, and how it compares with the best."""
    import kernels
    import torch

    module = kernels.load(package)
    a, b = (torch.randn(size, size, dtype=torch.float16, device="cuda") for _ in range(2))
    c = torch.empty(size, size, dtype=torch.float16, device="cuda")
    module.empty_kernel[(1,)](c)
    configs = module.tutorial_configs()
    tuned = module.triton.autotune(configs, key=["M", "N", "K"])(module.matmul_kernel)
    arguments = module.matmul_arguments(a, b, c)

    def grid(meta):
        blocks = (meta["BLOCK_SIZE_M"], meta["BLOCK_SIZE_N"])
        return (module.triton.cdiv(size, blocks[0]) * module.triton.cdiv(size, blocks[1]),)

    torch.cuda.synchronize()
    start = time.perf_counter()
    tuned[grid](*arguments, ACTIVATION="")
    torch.cuda.synchronize()
    result = {"seconds": time.perf_counter() - start, "chosen": str(tuned.best_config)}
    reference = a[:64].double() @ b.double()
    error = float((c[:64].double() - reference).abs().max() / reference.abs().max())
    assert error < 2e-3, error
    if package == "pantile":
        result["stats"] = module.triton.runtime.stats()
    if check:
        result["off"] = distance_to_best(module, tuned, configs, arguments, grid)
    return result


def distance_to_best(module, tuned, configs, arguments, grid):
    """The chosen configuration's time over the best one's, both by `do_bench(rep=100)`."""
    times = {}
    for config in configs:
        keywords = config.all_kwargs()
        run = module.matmul_kernel[grid]
        times[config] = module.triton.testing.do_bench(
            lambda: run(*arguments, ACTIVATION="", **keywords), rep=100, return_mode="median"
        )
    return times[tuned.best_config] / min(times.values())


def run_child(package, arguments, cache, check):
    """Start a process with the caches in a folder and read what it measured."""
    caches = {"PANTILE_CACHE_DIR": cache, "TRITON_CACHE_DIR": cache}
    command = [sys.executable, __file__, "--size", str(arguments.size), "--child", package]
    start = time.perf_counter()
    child = subprocess.run(
        command + ["--check"] * check,
        env={**os.environ, **caches},
        capture_output=True,
        text=True,
    )
    if child.returncode != 0:
        print(child.stdout, child.stderr, sep="\n")
        return None
    return {**json.loads(child.stdout.splitlines()[-1]), "process": time.perf_counter() - start}


def main():
    """Alternate the children, or be one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--child", choices=PACKAGES)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(tune_once(arguments.child, arguments.size, arguments.check)))
        return 0
    seconds, again = {package: [] for package in PACKAGES}, []
    for number in range(arguments.rounds):
        for package in PACKAGES if number % 2 == 0 else reversed(PACKAGES):
            with tempfile.TemporaryDirectory() as cache:
                first = run_child(package, arguments, cache, check=package == "pantile")
                if first is None:
                    return 1
                seconds[package].append(first["seconds"])
                print(
                    f"{package:8} {first['seconds']:6.2f} s, {first['chosen']}",
                    first.get("off", ""),
                )
                if package == "pantile":
                    again.append(run_child(package, arguments, cache, check=False))
    ours, theirs = (statistics.median(seconds[package]) for package in PACKAGES)
    print(
        f"=== ten configurations from cold: {ours:.2f} s, Triton {theirs:.2f} s: {ours / theirs:.2f}"
    )
    for second in again:
        print(
            f"second process: first result in {1e3 * second['seconds']:.0f} ms, {second['stats']}"
        )
        assert second["stats"]["compiles"] == 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
