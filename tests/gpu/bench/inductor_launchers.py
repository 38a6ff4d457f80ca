"""Host time per launch of Inductor's launchers: torch's static one, and that of the package.

Usage: inductor_launchers.py [--bursts 60] [--launches 300]
Needs: a GPU, torch 2.11 or later, triton; PYTHONPATH with pantile.
Gives: nanoseconds per launch for each package and launcher: the median and the least of the bursts.
How:   a process for each package and launcher, twice, interleaved. The launcher is the function that
       CachingAutotuner makes of a kernel with four pointers and a number; bursts are shorter than
       the queue of launches, so that none waits for the GPU.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

LENGTH = 4096
SIDES = {
    ("triton", "static"): ({}, ()),
    ("triton", "run"): ({}, ()),
    ("pantile", "static"): ({"PANTILE_TRITON_CACHE_LAYOUT": "1"}, ("-m", "pantile.compat")),
    ("pantile", "run"): ({}, ("-m", "pantile.compat")),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bursts", type=int, default=60)
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--measure", help="the launcher that this process measures")
    return parser.parse_args()


def launcher_of(is_static):
    """The launcher that Inductor makes for the kernel, of the kind that was asked for."""
    import torch
    import triton
    from inductor_launcher_kernel import weighted_sum
    from torch._inductor import config
    from torch._inductor.runtime import hints, triton_heuristics

    config.use_static_triton_launcher = is_static
    names = weighted_sum.arg_names
    signature = {name: "*fp32" for name in names} | {"xnumel": "i32", "XBLOCK": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(5)}
    device = hints.DeviceProperties.create(torch.device("cuda", 0))
    tuner = triton_heuristics.CachingAutotuner(
        weighted_sum,
        triton_meta={
            **{"signature": signature, "device": device, "constants": {}},
            "configs": [aligned],
        },
        configs=[triton.Config({"XBLOCK": 256}, num_warps=4, num_stages=1)],
        save_cache_hook=None,
        mutated_arg_names=["out_ptr0"],
        optimize_mem=True,
        heuristic_type=hints.HeuristicType.POINTWISE,
        inductor_meta={"grid_type": "Grid1D", "store_cubin": False},
        size_hints={"x": LENGTH},
    )
    tuner.precompile()
    (launcher,) = tuner.launchers
    if getattr(launcher, "_is_static", False) != is_static:
        raise RuntimeError("the launcher is of the other kind")
    return launcher


def measure(options):
    """Print the median and the least time of a burst, in nanoseconds per launch."""
    import torch

    launch = launcher_of(options.measure == "static")
    tensors = [torch.rand(LENGTH, device="cuda") for _ in range(4)]
    stream = torch.cuda.current_stream().cuda_stream
    times = []
    for _ in range(options.bursts):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(options.launches):
            launch(*tensors, LENGTH, stream=stream)
        times.append((time.perf_counter_ns() - start) / options.launches)
    torch.cuda.synchronize()
    a, b, c, out = tensors
    torch.testing.assert_close(out, a + b * c)
    print(round(statistics.median(times)), round(min(times)))


def main():
    options = arguments()
    if options.measure:
        return measure(options)
    counts = ["--bursts", str(options.bursts), "--launches", str(options.launches)]
    here = str(Path(__file__).resolve())
    print("ns per launch: median, least of the bursts")
    for number in range(2):
        for (package, kind), (variables, prefix) in SIDES.items():
            command = [sys.executable, *prefix, here, "--measure", kind, *counts]
            done = subprocess.run(
                command, capture_output=True, text=True, env=os.environ | variables
            )
            told = done.stdout.strip() if done.returncode == 0 else done.stderr[-2000:]
            print(f"{number} {package:8} {kind:7} {told}", flush=True)


if __name__ == "__main__":
    main()
